import { setTimeout as sleep } from 'node:timers/promises'
import { type Product, spawnProduct, type Starting } from '../harness/product.ts'
import type { Span } from './awake.ts'
import { calm } from './calm.ts'
import { heightIn } from './truth.ts'

/** A market that dies and comes back on the same data folder, for callers that only know how to ask again. */
export type Mortal = {
  /** Asks whatever process is there, again and again until it answers or the time is over and the market has become calm. */
  call<T>(ask: (product: Product) => Promise<T>, untilMs: number): Promise<T>
  /** Starts it, and kills it after so long, ready or not; or as soon after that as `isTime`, which it is some time. */
  live(forMs: number, isTime?: () => Promise<boolean>): Promise<void>
  /** Starts it to stay. */
  settleDown(): Promise<Product>
  /** The blocks of each life, from when it was ready. */
  awake(): readonly Span[]
}

const AGAIN_MS = 100
const LAST_WORDS = 2000
/** On a machine with much else to do a start alone takes half a minute. */
const LATE_MS = 200_000

/** @param env settings of every process */
export function mortal(dataDir: string, env: Readonly<Record<string, string>>): Mortal {
  let present: Starting | undefined
  const after = calm()
  const spans: Span[] = []
  let readyAt: number | undefined
  const start = (): Starting => {
    const begun = spawnProduct(dataDir, env)
    readyAt = undefined
    begun.ready.then(
      () => (readyAt = begun === present ? heightIn(dataDir) : readyAt),
      () => undefined, // it was killed before
    )
    return (present = begun)
  }
  return {
    async call(ask, untilMs) {
      for (;;) {
        try {
          if (!present) throw new Error('the market is not running')
          return await ask(await present.ready)
        } catch (error) {
          if (after.isOver(untilMs)) throw error
          await sleep(AGAIN_MS)
        }
      }
    },
    async live(forMs, isTime) {
      const life = start()
      const own = life.ended.then(async ({ code, signal }) => {
        if (signal === 'SIGKILL') return
        const said = await life.ready.then((product) => product.output(), String)
        throw new Error(`the market ended by itself with ${code ?? signal}:\n${said.slice(-LAST_WORDS)}`)
      })
      await Promise.race([own, sleep(forMs).then(() => isTime && comes(isTime))])
      await life.kill()
      await own
      if (readyAt !== undefined) spans.push({ from: readyAt, to: heightIn(dataDir) })
      present = undefined
    },
    async settleDown() {
      const product = await start().ready
      after.begin(product)
      return product
    },
    awake: () => (present && readyAt !== undefined ? [...spans, { from: readyAt, to: heightIn(dataDir) }] : spans),
  }
}

async function comes(isTime: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + LATE_MS; performance.now() < end && !(await isTime());) await sleep(AGAIN_MS)
}
