import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CheckoutCopy, copyCheckoutToTemp } from './checkout-copy.ts'
import { type Mutant, applyMutant } from './mutant.ts'
import { type TestRunOutcome, runTests } from './run-tests.ts'

export type MutantVerdict = { readonly mutant: Mutant; readonly result: TestRunOutcome; readonly seconds: number }

/** A test run that takes longer counts as hung. Every killer file needs far less time. */
const TIMEOUT_MS = 60_000
const BASELINE_TIMEOUT_MS = 15 * 60_000

/** Whether a test failed. A hang does not kill a mutant, because other causes may lead to a hang. */
export const isMutantKilled = ({ result }: MutantVerdict): boolean => result.outcome === 'failed'

/** @throws if the tests fail without a mutant, because they then prove nothing about the mutants */
async function assertTestsPass(folder: string, mutants: readonly Mutant[], jobs: number): Promise<void> {
  const files = [...new Set(mutants.flatMap(({ killers }) => killers))]
  const result = await runTests(folder, files, BASELINE_TIMEOUT_MS, jobs)
  if (result.outcome === 'passed') return
  const reason =
    result.outcome === 'failed' ? result.test : result.outcome === 'broken' ? result.why : 'they exceed the time limit'
  throw new Error(`The tests fail without a mutant, so that no mutant was tested. Correct them first: ${reason}`)
}

/** Applies one mutant to a copy, runs its tests and restores the file. */
export async function runMutant(folder: string, mutant: Mutant, limitMs = TIMEOUT_MS): Promise<MutantVerdict> {
  const path = join(folder, mutant.file)
  const original = readFileSync(path, 'utf8')
  const startedAt = performance.now()
  let result: TestRunOutcome
  writeFileSync(path, applyMutant(mutant, original))
  try {
    result = await runTests(folder, mutant.killers, limitMs)
  } finally {
    writeFileSync(path, original)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const hasTimedOut = result.outcome === 'hung' || (result.outcome === 'failed' && result.isTimeout)
  return { mutant, result: hasTimedOut ? await confirmTimeout(folder, mutant, result) : result, seconds }
}

/** Runs the same tests without the mutant. If they do not pass in time, the timeout is not due to the mutant. */
async function confirmTimeout(folder: string, { killers }: Mutant, result: TestRunOutcome): Promise<TestRunOutcome> {
  const { outcome } = await runTests(folder, killers, TIMEOUT_MS)
  return outcome === 'passed'
    ? result
    : { outcome: 'broken', why: 'its tests do not pass in time without the mutant either; try again on an idle machine' }
}

/**
 * Tests mutants, `jobs` at a time. Each job uses its own copy of the checkout.
 * @param onVerdict is called with each verdict immediately
 * @returns the verdicts in the order of the mutants
 */
export async function runMutants(
  mutants: readonly Mutant[],
  jobs: number,
  onVerdict: (verdict: MutantVerdict) => void = () => undefined,
  signal?: AbortSignal,
): Promise<readonly MutantVerdict[]> {
  const copies = Array.from({ length: Math.min(jobs, mutants.length) }, copyCheckoutToTemp)
  try {
    const [first] = copies
    if (first) await assertTestsPass(first.folder, mutants, jobs)
    const verdicts = new Map<Mutant, MutantVerdict>()
    const remaining = mutants.values()
    const runNext = async ({ folder }: CheckoutCopy): Promise<void> => {
      for (const mutant of remaining) {
        const verdict = await runMutant(folder, mutant)
        if (signal?.aborted) return
        verdicts.set(mutant, verdict)
        onVerdict(verdict)
      }
    }
    await Promise.all(copies.map(runNext))
    return mutants.flatMap((mutant) => verdicts.get(mutant) ?? [])
  } finally {
    for (const copy of copies) copy.remove()
  }
}
