import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { combineCommits } from './checkout.ts'
import type { RunProgress, SeedRange } from './run-seeds.ts'

/** Identifies a run. A stored run can be resumed only by a run with an equal key. */
type RunKey = Pick<SeedRange, 'from' | 'count'> & {
  /** The commit at the start of the run, with a mark if the checkout has changes. */
  readonly commit: string
  /** The name of the defect that the run adds to the market. */
  readonly defect?: string | undefined
}

/** Stores the progress of a long run, so that it can be resumed after it was stopped. */
export type ResumableRun = {
  /** @returns undefined if no run with this key is stored */
  read(): RunProgress | undefined
  /** Stores the progress. If the code has changed during the run, deletes the stored run, as its seeds ran different code. */
  write(progress: RunProgress): void
  /** @returns the commit of the run, with a mark if the checkout has differed from it at any call */
  readCode(): string
  remove(): void
}

type StoredRun = Omit<RunKey, 'from' | 'count'> & { readonly progress: RunProgress }

/** @param readCheckout reads the current commit of the checkout, with a mark if there are changes */
export function createResumableRun(
  folder: string,
  { from, count, commit, defect }: RunKey,
  readCheckout: () => string,
): ResumableRun {
  // Each seed range has its own file, so a short run does not overwrite a long run. Runs with a defect have another file.
  const file = join(folder, `run-${from}-${count}${defect === undefined ? '' : '-sabotaged'}.json`)
  let code = commit
  const readCode = (): string => (code = combineCommits(code, readCheckout()))
  return {
    read() {
      try {
        // The cast is safe because `write` below has written this file.
        const stored = JSON.parse(readFileSync(file, 'utf8')) as StoredRun
        const isSame = stored.commit === commit && stored.defect === defect
        return isSame && isCleanCommit(commit) ? stored.progress : undefined
      } catch {
        return undefined
      }
    },
    write(progress) {
      if (readCode() !== commit) return rmSync(file, { force: true })
      mkdirSync(folder, { recursive: true })
      // The rename is atomic, so a kill during the write leaves the previous file intact.
      writeFileSync(`${file}.new`, JSON.stringify({ commit, defect, progress } satisfies StoredRun))
      renameSync(`${file}.new`, file)
    },
    readCode,
    remove: () => rmSync(file, { force: true }),
  }
}

/** Whether the checkout had no changes. Changed code cannot be compared, because the mark does not show which changes it has. */
const isCleanCommit = (commit: string): boolean => /^[0-9a-f]+$/.test(commit)
