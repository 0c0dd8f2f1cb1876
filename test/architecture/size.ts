import { posix } from 'node:path'
import { isShipped } from './paths.ts'
import type { Source } from './source.ts'

const LIMITS = { median: 80, p90: 250, file: 400, main: 15, folder: 20 }

/** Finds files, mains and folders above their size limits, and a median or 90th percentile of file lengths above its limit. */
export function findSizeBreaches(sources: readonly Source[]): readonly string[] {
  const shipped = sources.filter(({ path }) => isShipped(path)).toSorted((a, b) => a.lines - b.lines)
  const linesAt = (share: number) => shipped[Math.ceil(shipped.length * share) - 1]?.lines ?? 0
  const byFolder = Map.groupBy(shipped, ({ path }) => posix.dirname(path))
  const longestFiles = shipped.slice(-5).map(({ path, lines }) => `${path} (${lines})`)
  return [
    ...sources
      .filter(({ lines }) => lines > LIMITS.file)
      .map(({ path, lines }) => `${path} has ${lines} lines, ${LIMITS.file} is the limit: split it by subject`),
    ...sources
      .filter(({ path, lines }) => /^services\/.*\/main\.ts$/.test(path) && lines > LIMITS.main)
      .map(
        ({ path, lines }) => `${path} has ${lines} lines, a main has at most ${LIMITS.main}: move all but the assembly out of it`,
      ),
    ...[...byFolder]
      .filter(([, { length }]) => length > LIMITS.folder)
      .map(([folder, { length }]) => `${folder} has ${length} files, ${LIMITS.folder} is the limit: move a subject to a folder`),
    ...(linesAt(0.5) > LIMITS.median
      ? [`half of the source files are above ${linesAt(0.5)} lines, not ${LIMITS.median}: split by subject`]
      : []),
    ...(linesAt(0.9) > LIMITS.p90
      ? [`one source file in ten is above ${linesAt(0.9)} lines, not ${LIMITS.p90}: begin with ${longestFiles.join(', ')}`]
      : []),
  ]
}
