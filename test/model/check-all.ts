import type { Configuration } from './configuration.ts'
import type { Outcome } from './tlc.ts'

export type Checked = { readonly configuration: Configuration; readonly outcome: Outcome }

const sizes: readonly Configuration['size'][] = ['large', 'medium', 'small']

/** Checks some at a time, the largest first, until the signal comes. @returns what was found, in the order of the configurations */
export async function checkAll(
  configurations: readonly Configuration[],
  jobs: number,
  check: (configuration: Configuration) => Promise<Outcome>,
  done: (checked: Checked) => void,
  signal: AbortSignal,
): Promise<readonly Checked[]> {
  const waiting = configurations.toSorted((one, other) => sizes.indexOf(one.size) - sizes.indexOf(other.size))
  const checked = new Map<Configuration, Checked>()
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      const one = { configuration: next, outcome: await check(next) }
      checked.set(next, one)
      done(one)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return configurations.flatMap((configuration) => checked.get(configuration) ?? [])
}

/** Any other result is a mistake: in the model, in the configuration, or in the protocol. */
export const isAsExpected = ({ configuration, outcome }: Checked): boolean => outcome.result === configuration.expected
