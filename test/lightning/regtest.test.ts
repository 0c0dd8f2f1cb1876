import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { waitingHtlcs } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { truthOfNodes } from '../faults/lightning/truth.ts'
import { buy, follow, order } from '../harness/buyer.ts'
import { scratch } from '../harness/product.ts'
import { startRegtest, type TestRegtest } from '../harness/regtest.ts'
import { noLightning } from './servers.ts'

const run = promisify(execFile)
const cli = new URL('../../packages/cli/src/main.ts', import.meta.url).pathname

type Node = { readonly alias: string; readonly role: string; readonly uri: string; readonly version: string }
type Payment = { readonly state: string; readonly payment_hash: string }
type Channel = { readonly active: boolean; readonly private: boolean }

describe.skipIf(noLightning)('npm run regtest', () => {
  const dataDir = scratch()
  let regtest: TestRegtest
  const penstock = async <T>(...args: readonly string[]): Promise<T> => {
    const { stdout } = await run(process.execPath, [cli, 'regtest', ...args, '--json'], {
      env: { PATH: process.env['PATH'], PENSTOCK_DATA_DIR: dataDir },
    })
    return JSON.parse(stdout) as T // the caller says what it asked for
  }
  const channels = () => penstock<readonly Channel[]>('channels', 'buyer')
  const height = () => regtest.network.servers.chain.rpc<number>('getblockcount')
  beforeAll(async () => {
    if (!noLightning) regtest = await startRegtest(dataDir, { PENSTOCK_OPEN_WINDOW_SECONDS: '20' })
  }, 300_000)
  afterAll(() => regtest?.stop(), 60_000)

  async function sold(): Promise<void> {
    const buyer = (await penstock<readonly Node[]>('nodes')).find(({ role }) => role === 'buyer')
    const before = (await channels()).length
    const bought = await buy(regtest, { connection_uri: buyer?.uri ?? '' })
    const { state, payment_hash } = await penstock<Payment>('pay', bought.invoice)
    expect(state).toBe('IN_FLIGHT')
    // What the nodes say, as the rounds of faults look at it: at whoever pays, and at whoever holds.
    const seen = async () => {
      const { payments, held, market } = await truthOfNodes(regtest.network)
      const ofThis = held.filter((htlc) => htlc.payment_hash === payment_hash)
      return [payments.find((one) => one.payment_hash === payment_hash)?.state, ofThis.map(({ receiver }) => receiver === market)]
    }
    expect(await seen()).toEqual(['in-flight', [true, true]])
    await until(
      'it is sold',
      async () => {
        await penstock('mine', '1')
        return (await order(regtest, bought)).status === 'VALID_CHANNEL_OPENING'
      },
      150_000,
    )
    await until('the payer knows', async () => (await penstock<Payment>('payment', payment_hash)).state === 'SUCCEEDED')
    expect((await channels()).length).toBe(before + 1)
    expect(await seen()).toEqual(['succeeded', []])
  }

  it('every seller sent away: the payment comes back', async () => {
    const nodes = await penstock<readonly Node[]>('nodes')
    const sellers = nodes.filter(({ role }) => role === 'seller').map(({ alias }) => alias)
    const running = () => sellers.filter((alias) => regtest.processes().some(({ name }) => name === alias))
    const before = await channels()
    const bought = await buy(regtest, { connection_uri: nodes.find(({ role }) => role === 'buyer')?.uri ?? '' })
    for (const alias of sellers) expect(await penstock('agent', alias, 'stop')).toEqual({ alias, agent: 'stopped' })
    expect(running()).toEqual([])
    const { state, payment_hash } = await penstock<Payment>('pay', bought.invoice)
    expect(state).toBe('IN_FLIGHT')
    // Whoever comes second has paid nothing.
    expect((await penstock<Payment>('pay', bought.invoice, '--from', 'buyer-two')).state).toBe('FAILED')
    await follow(regtest, bought, ['SELLER_FAILED_TO_OPEN_CHANNEL'], 150_000)
    await until('the payer knows', async () => (await penstock<Payment>('payment', payment_hash)).state === 'FAILED')
    expect(await channels()).toEqual(before)
    for (const alias of sellers) expect(await penstock('agent', alias, 'start')).toEqual({ alias, agent: 'started' })
    expect(running()).toEqual(sellers)
  })

  it('blocks past the end of a held payment: it comes back first, and no channel is closed', async () => {
    const nodes = await penstock<readonly Node[]>('nodes')
    const sellers = nodes.filter(({ role }) => role === 'seller').map(({ alias }) => alias)
    const before = await channels()
    const bought = await buy(regtest, { connection_uri: nodes.find(({ role }) => role === 'buyer')?.uri ?? '' })
    for (const alias of sellers) await penstock('agent', alias, 'stop')
    const { state, payment_hash } = await penstock<Payment>('pay', bought.invoice)
    expect(state).toBe('IN_FLIGHT')
    const market = regtest.network.person('market')
    const waiting = async () => (await waitingHtlcs(market.node)).find((htlc) => htlc.paymentHash === payment_hash)
    const [now, ends = 0] = [await height(), (await waiting())?.expiryHeight]
    const blocks = ends - now + 12
    let isMade = false
    // Two hands at once, and a third.
    const mining = Promise.all([penstock('mine', `${blocks}`), penstock('mine', '1'), regtest.network.servers.mine()])
    const made = mining.finally(() => (isMade = true))
    const heldAt: number[] = []
    await until('the blocks are made', async () => {
      const at = await height()
      if (await waiting()) heldAt.push(at)
      return isMade
    })
    await made
    expect(Math.max(now, ...heldAt)).toBeLessThanOrEqual(ends - 24)
    expect(await height()).toBe(now + blocks + 2)
    expect((await penstock<Payment>('payment', payment_hash.toUpperCase())).state).toBe('FAILED')
    expect(await channels()).toEqual(before)
    for (const alias of sellers) await penstock('agent', alias, 'start')
  }, 240_000)

  it('sells a channel by its commands, with the sellers that came back', sold)

  it('starts a node again that was killed, and btcd with its chain', async () => {
    for (const alias of ['market', 'btcd']) {
      const before = await height()
      await penstock('kill', alias)
      await until(`the chain is as it was without ${alias}`, async () => (await height()) === before)
      await until('blocks are made again', () => penstock<{ height: number }>('mine', '1'))
      expect(await height()).toBe(before + 1)
    }
    await sold()
  }, 240_000)

  it('goes on where it was stopped', async () => {
    const [tall, had] = [await height(), (await channels()).length]
    await regtest.stop()
    regtest = await startRegtest(dataDir, { PENSTOCK_OPEN_WINDOW_SECONDS: '20' })
    expect(await height()).toBeGreaterThanOrEqual(tall)
    expect((await channels()).length).toBe(had)
    await sold()
  }, 300_000)

  it('says in a sentence what it cannot do', async () => {
    const said = async (...args: readonly string[]): Promise<unknown> =>
      penstock(...args).catch((error: unknown) => (error as { readonly stderr: string }).stderr) // execFile's
    expect(await said('channels', 'nobody')).toMatch(/There is no node nobody; there are market, /)
    expect(await said('agent', 'buyer', 'stop')).toMatch(/There is no seller buyer/)
    expect(await said('pay', 'lnbcrt1')).toMatch(/That is no BOLT 11 invoice/)
    expect(await said('payment', '00'.repeat(32))).toMatch(/Nobody here pays/)
    expect(await said('payment', '00')).toMatch(/A payment hash has 64 hex digits/)
    expect(await said('mine', '1001')).toMatch(/a whole number from 1 to 1000/)
  })
})
