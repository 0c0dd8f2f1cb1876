import { resolveRelative } from './places.ts'
import type { Source } from './source.ts'

/** Circles of imports, those of types too: files in a circle are one file that somebody cut in the wrong place. */
export function importCycles(sources: readonly Source[]): readonly string[] {
  const paths = new Set(sources.map(({ path }) => path))
  const graph = new Map(
    sources.map((source) => [source.path, source.imports.flatMap((i) => fileOf(source.path, i.specifier, paths))]),
  )
  const finished = new Set<string>()
  const cycles: string[] = []

  const visit = (path: string, trail: readonly string[]): void => {
    if (finished.has(path)) return
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) {
      cycles.push(`${[...trail.slice(seenAt), path].join(' -> ')}: move what both need into a file of its own`)
      return
    }
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    finished.add(path)
  }
  for (const path of paths) visit(path, [])
  return cycles
}

function fileOf(from: string, specifier: string, paths: ReadonlySet<string>): readonly string[] {
  const [, owner, file] = /^@penstock\/([^/]+)\/(.+)$/.exec(specifier) ?? []
  const places = specifier.startsWith('.')
    ? [resolveRelative(from, specifier)]
    : [`packages/${owner}/src/${file}`, `services/${owner}/src/${file}`]
  return places.filter((place) => paths.has(place))
}
