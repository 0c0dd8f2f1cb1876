import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pay } from '@penstock/cluster/regtest/pay.ts'
import { fund } from '@penstock/servers/lightning-channels.ts'
import { openFold } from '../../test/faults/fold.ts'
import { buy, order } from '../../test/harness/buyer.ts'
import { regtestMissing, startRegtest, type TestRegtest } from '../../test/harness/regtest.ts'
import { lightningPage, tableOf } from './lightning-report.ts'
import { type Shares, sharesOf } from './lightning-shares.ts'

/**
 * `npm run bench:lightning`: how long a buyer's payment is held on a real network, and for whom. Writes
 * docs/benchmarks-lightning.md; with `--quick` one small round that only shows that it still runs.
 */
const AT_ONCE = 20
const ROUNDS = 3
const BLOCK_EVERY_MS = 1000
const WITHIN_MS = 120_000
/** On a slow machine it ends with the rounds that it has done. */
const NO_MORE_AFTER_MS = 120_000
const PAGE = new URL('../../docs/benchmarks-lightning.md', import.meta.url)
const SETTINGS = { PENSTOCK_LOG_LEVEL: 'error', PENSTOCK_OPEN_WINDOW_SECONDS: '600', PENSTOCK_NEW_SELLER_CAP_SAT: '0' }

if (regtestMissing !== undefined) {
  console.error(regtestMissing)
  process.exit(2)
}
const isQuick = process.argv.includes('--quick')
const shares = await measured(isQuick ? { atOnce: 2, rounds: 1 } : { atOnce: AT_ONCE, rounds: ROUNDS })
console.log(tableOf(shares))
if (!isQuick) {
  writeFileSync(PAGE, lightningPage(shares, { atOnce: AT_ONCE, blockEveryMs: BLOCK_EVERY_MS }))
  console.error('docs/benchmarks-lightning.md is written.')
}
process.exit(0)

async function measured({ atOnce, rounds }: { atOnce: number; rounds: number }): Promise<readonly Shares[]> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
  const regtest = await startRegtest(folder, SETTINGS)
  const minedAt = new Map<number, number>()
  try {
    const { servers, having } = regtest.network
    // One coin for each opening, so that none waits for the change of another.
    for (const { node } of having('seller')) await fund(servers, node, 20_000_000, 2 * atOnce)
    const began = performance.now()
    for (let round = 1; round <= rounds && performance.now() - began < NO_MORE_AFTER_MS; round++) {
      await sellAtOnce(regtest, atOnce, minedAt)
      console.error(`round ${round} of ${rounds}`)
    }
    const fold = openFold(folder)
    await fold.catchUp()
    await fold.close()
    return sharesOf(fold.events, minedAt)
  } finally {
    await regtest.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Buys, pays all at once, and makes blocks until everything is sold. */
async function sellAtOnce(regtest: TestRegtest, count: number, minedAt: Map<number, number>): Promise<void> {
  const { network } = regtest
  const buyers = network.having('buyer')
  const bought = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const buyer = buyers[index % buyers.length]
      if (!buyer) throw new Error('the network has no buyer')
      return { buyer, ...(await buy(regtest, { connection_uri: `${buyer.info.pubkey}@${buyer.node.socket}` })) }
    }),
  )
  await Promise.all(bought.map(({ buyer, invoice }) => pay(network, buyer, invoice)))
  const unsold = async (): Promise<readonly string[]> =>
    (await Promise.all(bought.map(async (one) => (await order(regtest, one)).status))).filter(
      (status) => status !== 'VALID_CHANNEL_OPENING',
    )
  for (const end = performance.now() + WITHIN_MS; ;) {
    const next = sleep(BLOCK_EVERY_MS)
    // The time is the chain's own: nodes that take long to see a block are no excuse.
    const [hash = ''] = await network.servers.chain.rpc<string[]>('generate', 1)
    const { height } = await network.servers.chain.rpc<{ height: number }>('getblockheader', hash, true)
    minedAt.set(height, Date.now())
    // Nodes that lag behind open no channels: on a slow machine blocks come slower.
    await network.servers.inStep()
    const open = await unsold()
    if (open.length === 0) return
    if (performance.now() > end) throw new Error(`not everything was sold in time: ${open.join(', ')}`)
    await next
  }
}
