import type { ModelConfiguration } from './configuration.ts'
import type { TlcOutcome } from './tlc-output.ts'

export type CheckedConfiguration = { readonly configuration: ModelConfiguration; readonly outcome: TlcOutcome }

const SIZES: readonly ModelConfiguration['size'][] = ['large', 'medium', 'small']

/** Checks `jobs` configurations at a time, the largest first. @returns the outcomes in the order of `configurations` */
export async function checkAll(
  configurations: readonly ModelConfiguration[],
  jobs: number,
  check: (configuration: ModelConfiguration) => Promise<TlcOutcome>,
  onChecked: (checked: CheckedConfiguration) => void,
  signal: AbortSignal,
): Promise<readonly CheckedConfiguration[]> {
  const remaining = configurations.toSorted((a, b) => SIZES.indexOf(a.size) - SIZES.indexOf(b.size))
  const checked = new Map<ModelConfiguration, CheckedConfiguration>()
  const checkNext = async (): Promise<void> => {
    for (let next = remaining.shift(); next && !signal.aborted; next = remaining.shift()) {
      const result = { configuration: next, outcome: await check(next) }
      checked.set(next, result)
      onChecked(result)
    }
  }
  await Promise.all(Array.from({ length: jobs }, checkNext))
  return configurations.flatMap((configuration) => checked.get(configuration) ?? [])
}

/** Whether TLC's result is the expected result. Any other result is an error in the model, the configuration or the protocol. */
export const isAsExpected = ({ configuration, outcome }: CheckedConfiguration): boolean =>
  outcome.result === configuration.expected
