import { resolveImport } from './paths.ts'
import type { Source } from './source.ts'

/** Finds import cycles, which may contain type imports. No file of a cycle can be understood or moved without the others. */
export function findImportCycles(sources: readonly Source[]): readonly string[] {
  const paths = new Set(sources.map(({ path }) => path))
  const graph = new Map(
    sources.map((source) => [source.path, source.imports.flatMap((i) => resolveImport(source.path, i.specifier, paths))]),
  )
  const finished = new Set<string>()
  const cycles: string[] = []

  const visit = (path: string, pathSoFar: readonly string[]): void => {
    if (finished.has(path)) return
    const cycleStart = pathSoFar.indexOf(path)
    if (cycleStart >= 0) {
      cycles.push(`${[...pathSoFar.slice(cycleStart), path].join(' -> ')}: move what both need into a file of its own`)
      return
    }
    for (const next of graph.get(path) ?? []) visit(next, [...pathSoFar, path])
    finished.add(path)
  }
  for (const path of paths) visit(path, [])
  return cycles
}
