import { fixedRateSource } from '@penstock/adapters/rates/fixed.ts'
import type { SimControl } from '@penstock/adapters/simnet/control.ts'
import { connectRemoteSimnet } from '@penstock/adapters/simnet/remote/client.ts'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Config } from '@penstock/config/config.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'
import { recordTip } from '@penstock/runtime/observability/tip-gauges.ts'

/** The methods of a control, which may return promises, because the network may run in another process. */
type AsyncControl<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Result | Promise<Result>
    : never
}

/** The simulated network, with a control for its other nodes and its blocks. */
export type SimulatedNetwork = {
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: AsyncControl<SimControl>
}

/** The systems outside the market's code: its node, the chain, the rates and the keyring. */
export type ExternalWorld = {
  readonly network: NodeInfo['network']
  readonly lightning: Lightning
  /** Checks a host to which a stranger's request makes our node connect; null on regtest, where every host is allowed. */
  readonly hostGuard: HostGuard | null
  readonly chain: Chain
  readonly rates: readonly RateSource[]
  readonly keyring: Keyring
  /** The height of the chain tip; undefined before the first tip arrives. */
  readonly height: () => number | undefined
  /** Null if the market uses lnd. */
  readonly simulated: SimulatedNetwork | null
  /**
   * Resolves when the node answers.
   * @param onWaiting called with the reason after each failed try
   * @throws ConfigError if the node is on another network than the configured one
   */
  waitUntilReady(onWaiting: (reason: string) => void): Promise<void>
  close(): Promise<void>
}

/** The name of the market's own node on the simulated network. */
const MARKET_ALIAS = 'market'

/** Opens a simulated network, in this or another process, with one fixed rate. */
export function openSimulatedWorld(dir: DataDir, config: Config, clock: Clock): ExternalWorld {
  const { network, close } = openSimulatedNetwork(dir, config, clock)
  const chain = network.chain()
  const heightFollower = followHeight(chain)
  let keyring: Keyring | undefined
  return {
    network: 'regtest',
    lightning: network.lightning(MARKET_ALIAS),
    // The simulated network never connects to real hosts.
    hostGuard: null,
    chain,
    rates: [fixedRateSource(BigInt(config.simCentsPerBtc), clock)],
    // Opened at the first use, because a process that receives no payments needs no keys.
    get keyring() {
      return (keyring ??= fileKeyring(config.keyringDir || dir.path, { network: 'regtest', environment: 'simulated' }))
    },
    height: heightFollower.height,
    simulated: { ...network, control: createAwaitingControl(network.control, heightFollower.waitForHeight) },
    waitUntilReady: () => Promise.resolve(),
    async close() {
      await heightFollower.close()
      await close()
    },
  }
}

type OpenedNetwork = { readonly network: SimulatedNetwork; readonly close: () => Promise<void> }

function openSimulatedNetwork(dir: DataDir, { simnetUrl, simBlockSeconds }: Config, clock: Clock): OpenedNetwork {
  if (simnetUrl !== '') return { network: connectRemoteSimnet(simnetUrl, clock), close: () => Promise.resolve() }
  const simnet = openSimnet({ path: dir.simnet, blockSeconds: simBlockSeconds, clock })
  return { network: simnet, close: simnet.close }
}

/** Adds to `mine` that it returns only after this process has seen the blocks. A caller can then mine as fast as we work. */
const createAwaitingControl = (
  control: SimulatedNetwork['control'],
  waitForHeight: (height: number) => Promise<void>,
): SimulatedNetwork['control'] =>
  new Proxy(control, {
    get: (target, name, receiver) =>
      name === 'mine'
        ? async (count: number) => {
            const height = await target.mine(count)
            await waitForHeight(height)
            return height
          }
        : (Reflect.get(target, name, receiver) as unknown),
  })

/** Follows the chain tips and remembers the newest height. */
export function followHeight(chain: Chain) {
  const stop = new AbortController()
  let height: number | undefined
  let hasEnded = false
  const waiters = new Map<() => void, number>()
  const release = (reached: number): void => {
    for (const [resolve, minHeight] of waiters) if (minHeight <= reached && waiters.delete(resolve)) resolve()
  }
  const followLoop = (async () => {
    try {
      for await (const tip of chain.tips(stop.signal)) {
        height = tip.height
        recordTip(tip)
        release(tip.height)
      }
    } finally {
      hasEnded = true
      release(Infinity)
    }
  })()
  return {
    height: () => height,
    /** Resolves when the height was seen, and when the follower has ended. */
    waitForHeight: (minHeight: number): Promise<void> =>
      new Promise((resolve) => {
        waiters.set(resolve, minHeight)
        if (hasEnded) release(Infinity)
        else if (height !== undefined) release(height)
      }),
    async close() {
      stop.abort()
      await followLoop
    },
  }
}
