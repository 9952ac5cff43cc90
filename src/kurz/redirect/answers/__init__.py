"""What visitors get.

`wire`: statuses, headers and bodies.
`pages`: the pages: no link, an ended link, a preview, the front page.
`one_time`: the texts of the pages of one-time links.
`report_form`: the form that reports abuse.
`languages`: the language of a page.
"""
