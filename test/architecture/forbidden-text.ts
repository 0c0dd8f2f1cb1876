type Text = { readonly path: string; readonly text: string }

// The patterns are joined from pieces, because the test searches this file too and would find an unbroken pattern.
const forbiddenPatterns: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(`/${'work'}/|/${'root'}/|/tmp/${'bash'}|/home/${'[a-z]+'}/`),
    'a path of one machine; make it relative, or read it from the system',
  ],
  [new RegExp(`\\b${'TO'}${'DO'}\\b|\\b${'FIX'}${'ME'}\\b`), 'unfinished work; finish it, or describe it in docs/roadmap.md'],
  [
    new RegExp(`//[\\w.-]*${'regi'}${'stry'}[\\w.-]*[:/]`),
    "the address of a package source; move it to each developer's own settings",
  ],
  [
    new RegExp(`\\b(?:${'np'}x|${'pnpm'} dlx|${'bun'}x)(?: -{1,2}(?!no\\b)[\\w-]+)* penstock\\b`),
    "a command that may fetch a stranger's package; write ./penstock",
  ],
]

/** Finds paths of one machine, addresses of package sources, commands that fetch strangers' packages, and marks of unfinished work. */
export const findForbiddenText = (texts: readonly Text[]): readonly string[] =>
  texts.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        forbiddenPatterns.flatMap(([pattern, fix]) => (pattern.test(line) ? [`${path}:${index + 1} has ${fix}`] : [])),
      ),
  )
