type CodeReference = { readonly path: string; readonly names: readonly string[] }

/** Lists the actions of `Next` in the module. The disjunction `Ours` is replaced by its own actions. */
export function listActions(module: string): readonly string[] {
  const listNames = (definition: string): readonly string[] => {
    const body = new RegExp(`^${definition} ==((?:.|\\n)*?)(?=\\n\\w|\\n={4})`, 'm').exec(module)?.[1] ?? ''
    const words = body.replaceAll(/\\\*.*/g, '').match(/\b[A-Z][A-Za-z]*\b/g) ?? []
    return [...new Set(words)].filter((word) => new RegExp(`^${word}(\\(.*\\))? ==`, 'm').test(module))
  }
  const isDisjunction = (name: string) => name === 'Ours'
  return listNames('Next').flatMap((name) => (isDisjunction(name) ? listNames(name) : [name]))
}

/** Reads the table of ARCHITECTURE.md: for each action, the code references in the last column. */
function readRows(page: string): ReadonlyMap<string, readonly CodeReference[]> {
  const section = page.split('\n## The model\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...section.matchAll(/^\| `(\w+)` \|.*\| (.*) \|$/gm)]
  return new Map(
    rows.map(([, action = '', code = '']) => [
      action,
      [...code.matchAll(/`([^`]+)` \(([^)]+)\)/g)].map(([, path = '', names = '']) => ({
        path,
        names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
      })),
    ]),
  )
}

/** @param textOf returns undefined for a file that does not exist */
export function findModelBreaches(module: string, page: string, textOf: (path: string) => string | undefined): readonly string[] {
  const [actions, rows] = [listActions(module), readRows(page)]
  return [
    ...(actions.length === 0 ? ['Penstock.tla has no action in Next'] : []),
    ...actions
      .filter((action) => (rows.get(action) ?? []).length === 0)
      .map((action) => `action ${action} of Penstock.tla has no code reference: add a row to ARCHITECTURE.md`),
    ...[...rows.keys()]
      .filter((action) => !actions.includes(action))
      .map((action) => `ARCHITECTURE.md has a row for ${action}, which is not an action of Next in Penstock.tla`),
    ...[...rows].flatMap(([action, references]) =>
      references.flatMap((reference) => checkReference(action, reference, textOf(reference.path))),
    ),
  ]
}

function checkReference(action: string, { path, names }: CodeReference, text: string | undefined): readonly string[] {
  if (text === undefined) return [`the row of ${action} in ARCHITECTURE.md refers to ${path}, which does not exist`]
  return names
    .filter((name) => !new RegExp(`\\b(function|const|readonly) ${name}\\b|^ +${name}\\(`, 'm').test(text))
    .map(
      (name) => `the row of ${action} in ARCHITECTURE.md refers to ${name}, which ${path} does not define: give the current name`,
    )
}
