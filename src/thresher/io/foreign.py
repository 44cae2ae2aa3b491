"""Files that thresher does not read: recognised by extension or first bytes, with the way to convert them."""

from thresher.errors import InvalidDataError

READS = "svmlight text, .npz, .npy, .csv, .tsv and .parquet"
_FRAME = "in Python: pandas.{}(path).to_csv('data.csv', index=False)"
_EXCEL = ("an Excel workbook", "save the sheet as CSV, or " + _FRAME.format("read_excel"))
_ANNDATA = (
    "an AnnData file",
    "in Python: adata = anndata.read_h5ad(path), then fit(adata.X, adata.obs['cell_type']); for the command line "
    "write scipy.sparse.save_npz('data.npz', adata.X) and numpy.save('y.npy', adata.obs['cell_type'].to_numpy(str)) "
    "and name the labels with --labels y.npy",
)
_HDF5 = ("an HDF5 file", "in Python: numpy.save('data.npy', h5py.File(path)['name of the dataset'][:])")
_PLINK = (
    "a file of PLINK or of genome intervals",
    "genotypes in Python: bed = bed_reader.open_bed(path); numpy.save('data.npy', bed.read()); numpy.save('y.npy', "
    "bed.pheno.astype(str)); then read 'data.npy' with labels='y.npy' (--labels y.npy) and, since missing genotypes "
    "are NaN, impute='mean' (--impute mean)",
)
_R = ("a file of R", "in R: write.csv(x, 'data.csv', row.names = FALSE)")
_MATLAB = ("a MATLAB file", "in Python: numpy.save('data.npy', scipy.io.loadmat(path)['X'])")
_PICKLE = ("a pickle, which can run any code when it is read", "load it where you trust it and numpy.save the matrix")
_ARCHIVE = ("an archive", "unpack it first")
_PACKED = ("compressed in a way that is not read", "decompress it first, or use .gz or .bz2")
_JSON = ("a JSON file", "of tables " + _FRAME.format("read_json"))
_PAGE = ("a web page or XML file", "of tables in Python: pandas.read_html(path)[0].to_csv('data.csv', index=False)")
_ARROW = ("an Arrow or Feather file", "in Python: pandas.read_feather(path).to_parquet('data.parquet')")
_DATABASE = ("a database", "export the table as CSV")
_DOCUMENT = ("a document or picture", "export its table as CSV")
_TENSORS = ("a file of tensors", "load it in Python and numpy.save the matrix as .npy")
_ARFF = (
    "an ARFF file",
    "in Python: pandas.DataFrame(scipy.io.arff.loadarff(path)[0]).to_csv('data.csv', index=False)",
)

BY_EXTENSION = {
    **dict.fromkeys(("xlsx", "xls", "xlsm", "xlsb", "ods"), _EXCEL),
    "h5ad": _ANNDATA,
    "h5mu": ("a MuData file", "in Python: mudata.read(path)['rna'], then as with AnnData: fit(adata.X, y)"),
    "loom": ("a loom file", "in Python: anndata.read_loom(path), then fit(adata.X, adata.obs['cell_type'])"),
    **dict.fromkeys(("h5", "hdf5", "hdf"), _HDF5),
    **dict.fromkeys(("bed", "bim", "fam", "pgen"), _PLINK),
    **dict.fromkeys(("vcf", "bcf"), ("a file of genetic variants", "export genotypes with plink2 --export A")),
    **dict.fromkeys(("rds", "rdata", "rda"), _R),
    "mat": _MATLAB,
    "arff": _ARFF,
    "mtx": ("a Matrix Market file", "in Python: scipy.sparse.save_npz('data.npz', scipy.io.mmread(path))"),
    "sav": ("an SPSS file", _FRAME.format("read_spss")),
    "dta": ("a Stata file", _FRAME.format("read_stata")),
    **dict.fromkeys(("sas7bdat", "xpt"), ("a SAS file", _FRAME.format("read_sas"))),
    **dict.fromkeys(("feather", "arrow", "ipc"), _ARROW),
    "orc": ("an ORC file", "in Python: pandas.read_orc(path).to_parquet('data.parquet')"),
    "avro": ("an Avro file", "convert it to Parquet"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), _JSON),
    **dict.fromkeys(("html", "htm", "xml"), _PAGE),
    **dict.fromkeys(("pkl", "pickle", "joblib"), _PICKLE),
    **dict.fromkeys(("zip", "tar", "tgz", "7z", "rar"), _ARCHIVE),
    **dict.fromkeys(("xz", "zst", "lz4", "lzma"), _PACKED),
    **dict.fromkeys(("pt", "pth", "safetensors", "tfrecord"), _TENSORS),
    **dict.fromkeys(("db", "sqlite", "sqlite3"), _DATABASE),
    **dict.fromkeys(("pdf", "doc", "docx", "png", "jpg", "jpeg", "tif", "tiff"), _DOCUMENT),
}
BY_FIRST_BYTES = {
    b"PK\x03\x04": ("a zip archive", "if it is an Excel workbook, save it as CSV; if it is .npz, name it so"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": _EXCEL,
    b"\x89HDF\r\n\x1a\n": ("an HDF5 file, perhaps AnnData", _HDF5[1] + "; AnnData: anndata.read_h5ad(path).X"),
    b"l\x1b\x01": _PLINK,
    b"RDX": _R,
    b"X\n\x00\x00\x00": _R,
    b"MATLAB 5.0 MAT-file": _MATLAB,
    b"ARROW1": _ARROW,
    b"\x80\x04\x95": _PICKLE,
    b"\x80\x05\x95": _PICKLE,
    b"\xfd7zXZ": _PACKED,
    b"(\xb5/\xfd": _PACKED,
    b"SQLite format 3": _DATABASE,
    b"%PDF": _DOCUMENT,
    b"@relation": _ARFF,
    b"@RELATION": _ARFF,
}
OTHER_KINDS = {b"PAR1": ("a Parquet file", "parquet"), b"\x93NUMPY": ("an .npy file", "npy")}
UTF_16 = "it is UTF-16 text; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 old > new, or save it as 'CSV UTF-8'"


def check_extension(path, extension):
    """Raise InvalidDataError if this extension belongs to a format that is not read."""
    if extension in BY_EXTENSION:
        more = " If it is one of these under another name, say which: kind='svmlight', 'csv' ... (--kind svmlight)."
        _refuse(path, *BY_EXTENSION[extension], more)


def check_text(head, name):
    """Raise InvalidDataError if the first bytes of a file are not those of text in an encoding that is read."""
    for mark, (what, kind) in OTHER_KINDS.items():
        if head.startswith(mark):
            raise InvalidDataError(
                f"{name}: this is {what}, not text: to read it set kind={kind!r} (--kind {kind}); streams are svmlight "
                "text"
            )
    for mark, (what, way) in BY_FIRST_BYTES.items():
        if head.startswith(mark):
            _refuse(name, what, way)
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff")) and head.count(0) >= len(head) / 4
    if marked or _has_wide_characters(head):
        raise InvalidDataError(f"{name}: {UTF_16}")


def _refuse(name, what, way, more=""):
    raise InvalidDataError(f"{name}: this is {what}, which thresher does not read; {way}. It reads {READS}.{more}")


def _has_wide_characters(head):
    """Whether nearly all of every second byte is zero, as in UTF-16 text of western languages without a mark."""
    halves = head[::2], head[1::2]
    zeros = sorted(half.count(0) for half in halves)
    return len(head) >= 8 and zeros[0] == 0 and zeros[1] >= 0.9 * len(halves[1])


def not_utf8(data, position):
    """What is wrong with text that has a byte which is not UTF-8 at ``position``, and what to do about it."""
    before = data[max(0, position - 20) : position].decode("utf-8", errors="replace").rpartition("\n")[2]
    after = f" after {before!r}" if before else ""
    return (
        f"not valid UTF-8 text: byte 0x{data[position]:02x}{after}; it may be Latin-1 (Windows-1252). Convert it: "
        "iconv -f WINDOWS-1252 -t UTF-8 old > new, or read it with pandas.read_csv(path, encoding='cp1252') and save it"
    )
