import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Progress, Seeds } from './run-seeds.ts'

/** Which seeds, with which code: only the same run goes on. */
type Wanted = Pick<Seeds, 'from' | 'count'> & { readonly commit: string }

/** Where a long run writes down how far it has come, so that it can go on after it was ended. */
export type KeptRun = {
  /** @returns undefined where there is none of these seeds with this code */
  read(): Progress | undefined
  write(progress: Progress): void
  remove(): void
}

export function keptRun(folder: string, { from, count, commit }: Wanted): KeptRun {
  // A short run in between takes nothing from a long one.
  const file = join(folder, `run-${from}-${count}.json`)
  return {
    read() {
      try {
        // Written below, by a run of this program.
        const kept = JSON.parse(readFileSync(file, 'utf8')) as { readonly commit: string; readonly progress: Progress }
        return kept.commit === commit && isNamed(commit) ? kept.progress : undefined
      } catch {
        return undefined
      }
    },
    write(progress) {
      mkdirSync(folder, { recursive: true })
      // A run that is killed while it writes has the file before.
      writeFileSync(`${file}.new`, JSON.stringify({ commit, progress }))
      renameSync(`${file}.new`, file)
    },
    remove: () => rmSync(file, { force: true }),
  }
}

/** Code that differs from its commit may differ in another way by now. */
const isNamed = (commit: string): boolean => /^[0-9a-f]+$/.test(commit)
