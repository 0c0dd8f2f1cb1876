import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { ConfigError } from '@penstock/runtime/config.ts'

type Network = NodeInfo['network']
/** @throws Fault while there is no answer */
export type AskNetwork = () => Promise<{ readonly name: string; readonly network: Network }>

const ASK_AGAIN_MS = 1000

/**
 * Resolves when all answer, and are on the network that the configuration says. The heights of another chain would let
 * every hold be at its last block at once.
 * @param waitsFor told what is waited for, as often as it is asked for in vain
 * @throws ConfigError where one is on another network
 */
export async function onNetwork(
  wanted: Network,
  all: readonly AskNetwork[],
  clock: Pick<Clock, 'sleep'>,
  waitsFor: (reason: string) => void,
): Promise<void> {
  for (const ask of all) {
    const { name, network } = await answer(ask, clock, waitsFor)
    if (network !== wanted) throw new ConfigError(`${name} is on ${network}, and PENSTOCK_NETWORK is ${wanted}.`)
  }
}

async function answer(ask: AskNetwork, clock: Pick<Clock, 'sleep'>, waitsFor: (reason: string) => void): ReturnType<AskNetwork> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      waitsFor(error.message)
      await clock.sleep(ASK_AGAIN_MS)
    }
  }
}
