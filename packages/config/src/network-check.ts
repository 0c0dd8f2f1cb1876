import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { ConfigError } from './config-error.ts'

type Network = NodeInfo['network']
type NetworkAnswer = { readonly name: string; readonly network: Network }
/** @throws Fault if the node does not answer */
export type NetworkQuery = () => Promise<NetworkAnswer>

const RETRY_EVERY_MS = 1000
const ANSWER_TIMEOUT_MS = 10_000

/**
 * Waits until a node answers, and checks its network. The heights of another chain differ, so with them all holds could be
 * at their last height immediately.
 * @param onWaiting called with the reason after each failed try
 * @throws ConfigError if the node is on another network
 */
export async function waitForNetwork(
  expected: Network,
  query: NetworkQuery,
  clock: Pick<Clock, 'sleep'>,
  onWaiting: (reason: string) => void,
): Promise<void> {
  for (;;) {
    try {
      return assertNetwork(expected, await query())
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onWaiting(error.message)
      await clock.sleep(RETRY_EVERY_MS)
    }
  }
}

/**
 * Checks the network of an optional node once. Without an answer the start continues, so that the guard of the holds runs.
 * @param onMissing called with the reason if the node does not answer
 * @throws ConfigError if the node is on another network
 */
export async function rejectOtherNetwork(
  expected: Network,
  query: NetworkQuery,
  clock: Pick<Clock, 'sleep'>,
  onMissing: (reason: string) => void,
): Promise<void> {
  try {
    assertNetwork(expected, await withTimeout(clock, ANSWER_TIMEOUT_MS, query()))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    onMissing(error.message)
  }
}

function assertNetwork(expected: Network, { name, network }: NetworkAnswer): void {
  if (network !== expected) throw new ConfigError(`${name} is on ${network}, and PENSTOCK_NETWORK is ${expected}.`)
}
