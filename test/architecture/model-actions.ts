type Place = { readonly path: string; readonly names: readonly string[] }

/** Each action of `Next` in the module; where `Next` names a disjunction of others, those. */
export function actionsOf(module: string): readonly string[] {
  const named = (definition: string): readonly string[] => {
    const body = new RegExp(`^${definition} ==((?:.|\\n)*?)(?=\\n\\w|\\n={4})`, 'm').exec(module)?.[1] ?? ''
    const words = body.replaceAll(/\\\*.*/g, '').match(/\b[A-Z][A-Za-z]*\b/g) ?? []
    return [...new Set(words)].filter((word) => new RegExp(`^${word}(\\(.*\\))? ==`, 'm').test(module))
  }
  const isDisjunction = (name: string) => name === 'Ours'
  return named('Next').flatMap((name) => (isDisjunction(name) ? named(name) : [name]))
}

/** The table of ARCHITECTURE.md: by action, the places that its last column names. */
function rowsOf(page: string): ReadonlyMap<string, readonly Place[]> {
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

/** @param textOf undefined for a file that there is not */
export function modelBreaches(module: string, page: string, textOf: (path: string) => string | undefined): readonly string[] {
  const [actions, rows] = [actionsOf(module), rowsOf(page)]
  return [
    ...(actions.length === 0 ? ['Penstock.tla has no action in Next'] : []),
    ...actions
      .filter((action) => (rows.get(action) ?? []).length === 0)
      .map((action) => `action ${action} of Penstock.tla has no place: give it a row in ARCHITECTURE.md`),
    ...[...rows.keys()]
      .filter((action) => !actions.includes(action))
      .map((action) => `ARCHITECTURE.md has a row for ${action}, which is no action of Next in Penstock.tla`),
    ...[...rows].flatMap(([action, places]) => places.flatMap((place) => placeBreaches(action, place, textOf(place.path)))),
  ]
}

function placeBreaches(action: string, { path, names }: Place, text: string | undefined): readonly string[] {
  if (text === undefined) return [`the row of ${action} in ARCHITECTURE.md names ${path}, and there is no such file`]
  return names
    .filter((name) => !new RegExp(`\\b(function|const|readonly) ${name}\\b|^ +${name}\\(`, 'm').test(text))
    .map((name) => `the row of ${action} in ARCHITECTURE.md names ${name}, which ${path} does not define: name what does it now`)
}
