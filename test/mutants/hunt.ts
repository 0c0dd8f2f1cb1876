import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Copy, copyOfCheckout } from './copy.ts'
import { type Mutant, mutated } from './mutant.ts'
import { type Outcome, runTests } from './run-tests.ts'

export type Verdict = { readonly mutant: Mutant; readonly result: Outcome; readonly seconds: number }

/** Far more than any of these test files takes: who is still at it then, hangs. */
const LIMIT_MS = 60_000
const BASELINE_LIMIT_MS = 15 * 60_000

/** By a test that has a name: tests that never end may do so for any reason, and tell nobody what is wrong. */
export const isKilled = ({ result }: Verdict): boolean => result.outcome === 'failed'

/** @throws where the tests fail already: a mutant would prove nothing */
async function provenSound(folder: string, mutants: readonly Mutant[], jobs: number): Promise<void> {
  const files = [...new Set(mutants.flatMap(({ killers }) => killers))]
  const result = await runTests(folder, files, BASELINE_LIMIT_MS, jobs)
  if (result.outcome === 'passed') return
  const why = result.outcome === 'failed' ? result.test : result.outcome === 'broken' ? result.why : 'they do not come to an end'
  throw new Error(`The tests fail without any mutant, so none is tried. Mend them first: ${why}`)
}

/** One mutant in a copy: put in, tested, and taken out again. */
export async function tryMutant(folder: string, mutant: Mutant, limitMs = LIMIT_MS): Promise<Verdict> {
  const path = join(folder, mutant.file)
  const sound = readFileSync(path, 'utf8')
  const startedAt = performance.now()
  let result: Outcome
  writeFileSync(path, mutated(mutant, sound))
  try {
    result = await runTests(folder, mutant.killers, limitMs)
  } finally {
    writeFileSync(path, sound)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const isLate = result.outcome === 'hung' || (result.outcome === 'failed' && result.isTimeout)
  return { mutant, result: isLate ? await unlessBusy(folder, mutant, result) : result, seconds }
}

/** A time-out may also come from a busy machine: it counts where the same tests are in time without the mutant. */
async function unlessBusy(folder: string, { killers }: Mutant, result: Outcome): Promise<Outcome> {
  const { outcome } = await runTests(folder, killers, LIMIT_MS)
  return outcome === 'passed'
    ? result
    : { outcome: 'broken', why: 'its tests are late without the mutant too; try again on a quieter machine' }
}

/**
 * All mutants, several at once, each of those in a copy of its own.
 * @param told hears of each verdict as it comes
 * @returns the verdicts in the order of the mutants
 */
export async function hunt(
  mutants: readonly Mutant[],
  jobs: number,
  told: (verdict: Verdict) => void = () => undefined,
  signal?: AbortSignal,
): Promise<readonly Verdict[]> {
  const copies = Array.from({ length: Math.min(jobs, mutants.length) }, copyOfCheckout)
  try {
    const [first] = copies
    if (first) await provenSound(first.folder, mutants, jobs)
    const verdicts = new Map<Mutant, Verdict>()
    const waiting = mutants.values()
    const lane = async ({ folder }: Copy): Promise<void> => {
      for (const mutant of waiting) {
        const verdict = await tryMutant(folder, mutant)
        if (signal?.aborted) return
        verdicts.set(mutant, verdict)
        told(verdict)
      }
    }
    await Promise.all(copies.map(lane))
    return mutants.flatMap((mutant) => verdicts.get(mutant) ?? [])
  } finally {
    for (const copy of copies) copy.remove()
  }
}
