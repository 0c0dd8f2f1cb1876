import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import type { SimControl } from '@penstock/adapters/simnet/control.ts'
import { remoteSimnet } from '@penstock/adapters/simnet/remote/client.ts'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Config } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'
import { noteTip } from './tip-metrics.ts'

/** What a network's control answers, in this process or another. */
type Reachable<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Result | Promise<Result>
    : never
}

/** The simulated network, with a hand for whoever plays the rest of the world. */
export type SimulatedNetwork = {
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: Reachable<SimControl>
}

/** The world outside of the market: its node, the chain, the rates, and its own keys. */
export type Outside = {
  readonly network: NodeInfo['network']
  readonly lightning: Lightning
  /** Which hosts a stranger may name for a connection of our node; null where any, as on networks for tests. */
  readonly hostGuard: HostGuard | null
  readonly chain: Chain
  readonly rates: readonly RateSource[]
  readonly keyring: Keyring
  /** The newest block that was seen; undefined until the first. */
  readonly height: () => number | undefined
  /** Null on a real network. */
  readonly simulated: SimulatedNetwork | null
  /**
   * Resolves when the node answers.
   * @param waitsFor told what is waited for, as often as it is asked for in vain
   * @throws ConfigError where it is on another network than the configuration says
   */
  ready(waitsFor: (reason: string) => void): Promise<void>
  close(): Promise<void>
}

/** The name of the market's own node on the simulated network. */
const MARKET = 'market'

/** A simulated network that remembers, here or in another process, with one labelled rate. */
export function simulated(dir: DataDir, config: Config, clock: Clock): Outside {
  const { network, close } = simulatedNetwork(dir, config, clock)
  const chain = network.chain()
  const following = followHeight(chain)
  let keyring: Keyring | undefined
  return {
    network: 'regtest',
    lightning: network.lightning(MARKET),
    // Its names are known on it alone, and lead to no machine.
    hostGuard: null,
    chain,
    rates: [fixedRate(BigInt(config.simCentsPerBtc), clock)],
    // Opened by those alone who ask for it: who cannot take money needs no keys.
    get keyring() {
      return (keyring ??= fileKeyring(config.keyringDir || dir.path, { network: 'regtest', environment: 'simulated' }))
    },
    height: following.height,
    simulated: network,
    ready: () => Promise.resolve(),
    async close() {
      await following.close()
      await close()
    },
  }
}

type Kept = { readonly network: SimulatedNetwork; readonly close: () => Promise<void> }

function simulatedNetwork(dir: DataDir, { simnetUrl, simBlockSeconds }: Config, clock: Clock): Kept {
  if (simnetUrl !== '') return { network: remoteSimnet(simnetUrl, clock), close: () => Promise.resolve() }
  const simnet = openSimnet({ path: dir.simnet, blockSeconds: simBlockSeconds, clock })
  return { network: simnet, close: simnet.close }
}

/** Keeps the newest height at hand. */
export function followHeight(chain: Chain) {
  const stop = new AbortController()
  let height: number | undefined
  const following = (async () => {
    for await (const tip of chain.tips(stop.signal)) {
      height = tip.height
      noteTip(tip)
    }
  })()
  return {
    height: () => height,
    async close() {
      stop.abort()
      await following
    },
  }
}
