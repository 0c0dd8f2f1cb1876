type Text = { readonly path: string; readonly text: string }

// The pattern is joined from pieces, because the test searches this file too.
const IMPORT_URL = ['import', 'meta', 'url'].join('\\.')
const INLINE = new RegExp(`new URL\\([^;]{0,200}?${IMPORT_URL},?\\s*\\)\\s*\\.${'pathname'}`, 'g')
const NAMED = new RegExp(`\\b(?:const|let)\\s+(\\w+)\\s*=\\s*new URL\\([^;=]{0,200}?${IMPORT_URL},?\\s*\\)(?!\\.)`, 'g')

/**
 * Finds paths that are read from a file URL by its field for the path. That field is percent-encoded: a folder with a blank or an
 * umlaut in its name is then not found.
 */
export const findEncodedPaths = (texts: readonly Text[]): readonly string[] =>
  texts.flatMap(({ path, text }) =>
    [...findOffsets(text)].map(
      (offset) =>
        `${path}:${text.slice(0, offset).split('\n').length} reads a path from a file URL; use fileURLToPath or import.meta.dirname`,
    ),
  )

function* findOffsets(text: string): Iterable<number> {
  for (const { index } of text.matchAll(INLINE)) yield index
  for (const [, name] of text.matchAll(NAMED))
    for (const { index } of text.matchAll(new RegExp(`\\b${name}\\.${'pathname'}\\b`, 'g'))) yield index
}
