import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeBetween } from './checkout.ts'
import type { Progress, Seeds } from './run-seeds.ts'

/** What is run: only the same run goes on. */
type Wanted = Pick<Seeds, 'from' | 'count'> & {
  /** The code with which it begins. */
  readonly commit: string
  /** What is broken in the market on purpose. */
  readonly sabotage?: string | undefined
  /** Whether some processes have the pinned earlier contracts, as their plans want it. */
  readonly isPinned: boolean
}

/** Where a long run writes down how far it has come, so that it can go on after it was ended. */
export type KeptRun = {
  /** @returns undefined where there is none of these seeds with this code */
  read(): Progress | undefined
  /** Nothing is kept of a run whose code has changed on the way: its seeds were not all of one market. */
  write(progress: Progress): void
  /** The code of all that ran so far, looked at now. */
  code(): string
  remove(): void
}

type Kept = Omit<Wanted, 'from' | 'count'> & { readonly progress: Progress }

/** @param checkedOut the code that is there now */
export function keptRun(folder: string, { from, count, commit, sabotage, isPinned }: Wanted, checkedOut: () => string): KeptRun {
  // A short run in between takes nothing from a long one, nor one that is broken on purpose from an honest one.
  const file = join(folder, `run-${from}-${count}${sabotage === undefined ? '' : '-sabotaged'}.json`)
  let code = commit
  const look = (): string => (code = codeBetween(code, checkedOut()))
  return {
    read() {
      try {
        // Written below, by a run of this program.
        const kept = JSON.parse(readFileSync(file, 'utf8')) as Kept
        const isSame = kept.commit === commit && kept.sabotage === sabotage && kept.isPinned === isPinned
        return isSame && isNamed(commit) ? kept.progress : undefined
      } catch {
        return undefined
      }
    },
    write(progress) {
      if (look() !== commit) return rmSync(file, { force: true })
      mkdirSync(folder, { recursive: true })
      // A run that is killed while it writes has the file before.
      writeFileSync(`${file}.new`, JSON.stringify({ commit, sabotage, isPinned, progress } satisfies Kept))
      renameSync(`${file}.new`, file)
    },
    code: look,
    remove: () => rmSync(file, { force: true }),
  }
}

/** Code that differs from its commit may differ in another way by now. */
const isNamed = (commit: string): boolean => /^[0-9a-f]+$/.test(commit)
