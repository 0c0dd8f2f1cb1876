type Text = { readonly path: string; readonly text: string }

// Put together from pieces, so that this file may stand among those that are searched.
const forbidden: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(`/${'work'}/|/${'root'}/|/tmp/${'bash'}|/home/${'[a-z]+'}/`),
    'a path of one machine; make it relative, or ask the system',
  ],
  [
    new RegExp(`\\b${'TO'}${'DO'}\\b|\\b${'FIX'}${'ME'}\\b`),
    'unfinished work; do it now, or write down in docs/roadmap.md what is left',
  ],
  [
    new RegExp(`//[\\w.-]*${'regi'}${'stry'}[\\w.-]*[:/]`),
    "the address of a package source; leave that to each developer's own settings",
  ],
]

/** Words that only mean something on one machine or on one day. */
export const wordBreaches = (texts: readonly Text[]): readonly string[] =>
  texts.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        forbidden.flatMap(([word, mend]) => (word.test(line) ? [`${path}:${index + 1} has ${mend}`] : [])),
      ),
  )
