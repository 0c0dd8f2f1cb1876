import { isShipped } from './places.ts'
import type { Source } from './source.ts'

const most = { median: 80, p90: 250, file: 400, main: 15 }

/** Long files of any kind, mains that do more than assemble, and shipped code that grows as a whole. */
export function sizeBreaches(sources: readonly Source[]): readonly string[] {
  const shipped = sources.filter(({ path }) => isShipped(path)).toSorted((a, b) => a.lines - b.lines)
  const linesAt = (share: number) => shipped[Math.ceil(shipped.length * share) - 1]?.lines ?? 0
  const longest = shipped.slice(-5).map(({ path, lines }) => `${path} (${lines})`)
  return [
    ...sources
      .filter(({ lines }) => lines > most.file)
      .map(({ path, lines }) => `${path} has ${lines} lines, ${most.file} is the end: split it by subject`),
    ...sources
      .filter(({ path, lines }) => /^services\/.*\/main\.ts$/.test(path) && lines > most.main)
      .map(
        ({ path, lines }) => `${path} has ${lines} lines, a main has at most ${most.main}: move all but the assembly out of it`,
      ),
    ...(linesAt(0.5) > most.median
      ? [`half of the source files are above ${linesAt(0.5)} lines, not ${most.median}: split by subject`]
      : []),
    ...(linesAt(0.9) > most.p90
      ? [`one source file in ten is above ${linesAt(0.9)} lines, not ${most.p90}: begin with ${longest.join(', ')}`]
      : []),
  ]
}
