"""Export, import and archive of links, streamed.

`format`: the format, as CSV or JSON Lines.
`exporting`: exports links page by page; `writing`: links as lines of an export.
`importing`: imports a file in batches.
`reading`: bytes as records.
`preparing`: a record as a row that can be stored.
`rows`: a record as a link.
`codes`: codes for rows that bring none.
`row_inserter`: stores rows, and decides conflicts.
`rehearsal`: dry runs.
`pacing`: slices, so that others are served in between.
`tuning`: memory and speed of a process that only transfers.
`archiving`: moves links into the archive; `archive_format`: a file of the archive.
`signing`: signs archive files.
`unpacking`: unpacks archive files in bounded pieces.
`judging`: which links of an archive may be restored.
`restoring`: lists the archive, and restores links.
`backup`: the file of a backup.
"""
