import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { ConfigError } from '@penstock/runtime/config.ts'

type Network = NodeInfo['network']
type Answer = { readonly name: string; readonly network: Network }
/** @throws Fault while there is no answer */
export type AskNetwork = () => Promise<Answer>

const ASK_AGAIN_MS = 1000
const ANSWER_MS = 10_000

/**
 * Resolves when it answers, and is on the network that the configuration says. The heights of another chain would let
 * every hold be at its last block at once.
 * @param waitsFor told what is waited for, as often as it is asked for in vain
 * @throws ConfigError where it is on another network
 */
export async function onNetwork(
  wanted: Network,
  ask: AskNetwork,
  clock: Pick<Clock, 'sleep'>,
  waitsFor: (reason: string) => void,
): Promise<void> {
  for (;;) {
    try {
      return refuseOther(wanted, await ask())
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      waitsFor(error.message)
      await clock.sleep(ASK_AGAIN_MS)
    }
  }
}

/**
 * The same for one that can be done without: whoever it is, it must not keep payments unguarded.
 * @param missing told that it gives no answer
 */
export async function notOnAnother(
  wanted: Network,
  ask: AskNetwork,
  clock: Clock,
  missing: (reason: string) => void,
): Promise<void> {
  try {
    refuseOther(wanted, await within(clock, ANSWER_MS, ask()))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    missing(error.message)
  }
}

function refuseOther(wanted: Network, { name, network }: Answer): void {
  if (network !== wanted) throw new ConfigError(`${name} is on ${network}, and PENSTOCK_NETWORK is ${wanted}.`)
}
