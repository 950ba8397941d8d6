"""Compares the Parquet files in FOLDER with the CSV files of RUN, cell by cell, as pyarrow reads them.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1
    keytoll export RUN --format parquet --out FOLDER
    venv/bin/python interop/columnar.py RUN FOLDER

Ends with exit code 1 at the first difference: a column, a type, a null, a value, or a text of a column that is not that of its file.
"""

import csv
import json
import pathlib
import sys

import pyarrow
import pyarrow.parquet

# What each type of a column makes of the text of a cell.
READ = {
    "string": str,
    "int64": int,
    "double": float,
    "bool": {"true": True, "false": False}.get,
}


def expected(field, cells):
    """The values that a column has, given the cells of the CSV file."""
    read = READ[str(field.type)]
    return [None if cell == "" and field.nullable else read(cell) for cell in cells]


def documented(schema):
    """The names, units and descriptions that the file itself says."""
    return json.loads(schema.metadata[b"keytoll.columns"])


def compare(source, target):
    with open(source, newline="") as text:
        head, *lines = csv.reader(text)
    table = pyarrow.parquet.read_table(target)
    assert table.column_names == head, f"{target}: columns {table.column_names}"
    assert [column["name"] for column in documented(table.schema)] == head, f"{target}: documented columns"
    assert table.num_rows == len(lines), f"{target}: {table.num_rows} rows"
    for place, field in enumerate(table.schema):
        found, wanted = table.column(place).to_pylist(), expected(field, [line[place] for line in lines])
        assert found == wanted, f"{target}: column {field.name}"
    types = sorted({str(field.type) for field in table.schema})
    sizes = f"{source.stat().st_size} bytes of CSV, {target.stat().st_size} of Parquet"
    print(f"{target.name}: {table.num_rows} rows, {table.num_columns} columns ({', '.join(types)}): equal; {sizes}")


def main(run, folder):
    targets = sorted(pathlib.Path(folder).glob("*.parquet"))
    assert targets, f"{folder} has no Parquet files"
    for target in targets:
        compare(pathlib.Path(run) / f"{target.stem}.csv", target)


main(*sys.argv[1:])
