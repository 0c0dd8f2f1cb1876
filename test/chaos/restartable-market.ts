import { setTimeout as sleep } from 'node:timers/promises'
import { type Product, spawnProduct, type StartingProduct } from '../support/product.ts'
import type { HeightRange } from '../support/invariants/uptime.ts'
import { createRetryDeadline } from './retry-deadline.ts'
import { retryRequest, type RetryingClient } from './retrying-client.ts'
import { readNetworkHeight } from '../support/invariants/network-state.ts'

/** A market that is killed and restarted on the same data folder. Its callers retry their requests. */
export type RestartableMarket = RetryingClient & {
  /** Starts the market and kills it after `forMs`, even before it is ready. The kill also waits until `isKillDue` gives true. */
  runFor(forMs: number, isKillDue?: () => Promise<boolean>): Promise<void>
  /** Starts the market, which then keeps running. */
  startToStay(): Promise<Product>
  /** Returns the height range of each process from its readiness to its kill. */
  uptime(): readonly HeightRange[]
}

const RETRY_INTERVAL_MS = 100
const SELLS_WITHIN_MS = 30_000
const LAST_CHARACTERS = 2000
/** The longest wait for `isKillDue`. On a busy machine the start of the market alone takes half a minute. */
const KILL_TIMEOUT_MS = 200_000

/** @param env settings of every process */
export function createRestartableMarket(dataDir: string, env: Readonly<Record<string, string>>): RestartableMarket {
  let current: StartingProduct | undefined
  const retryDeadline = createRetryDeadline(SELLS_WITHIN_MS)
  const ranges: HeightRange[] = []
  let readyAt: number | undefined
  const start = (): StartingProduct => {
    const starting = spawnProduct(dataDir, env)
    readyAt = undefined
    starting.ready.then(
      () => (readyAt = starting === current ? readNetworkHeight(dataDir) : readyAt),
      () => undefined, // The process was killed before it was ready.
    )
    return (current = starting)
  }
  return {
    call: (request, untilMs) =>
      retryRequest(
        async () => {
          if (!current) throw new Error('the market is not running')
          return request(await current.ready)
        },
        () => retryDeadline.isOver(untilMs),
      ),
    async runFor(forMs, isKillDue) {
      const running = start()
      const ended = running.ended.then(async ({ code, signal }) => {
        if (signal === 'SIGKILL') return
        const output = await running.ready.then((product) => product.output(), String)
        throw new Error(`the market exited by itself with ${code ?? signal}:\n${output.slice(-LAST_CHARACTERS)}`)
      })
      await Promise.race([ended, sleep(forMs).then(() => isKillDue && waitUntilTrue(isKillDue))])
      await running.kill()
      await ended
      if (readyAt !== undefined) ranges.push({ from: readyAt, to: readNetworkHeight(dataDir) })
      current = undefined
    },
    async startToStay() {
      const product = await start().ready
      retryDeadline.startWhenSelling(product)
      return product
    },
    uptime: () => (current && readyAt !== undefined ? [...ranges, { from: readyAt, to: readNetworkHeight(dataDir) }] : ranges),
  }
}

async function waitUntilTrue(isKillDue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + KILL_TIMEOUT_MS; performance.now() < end && !(await isKillDue());)
    await sleep(RETRY_INTERVAL_MS)
}
