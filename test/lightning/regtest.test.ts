import type { SpawnOptions } from 'node:child_process'
import { join } from 'node:path'
import { listPendingHtlcs } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLightningState } from '../chaos/lightning/network-state.ts'
import { buyChannel, waitForStatus, readOrder } from '../support/market-client.ts'
import { makeTempFolder } from '../support/product.ts'
import { startRegtest, type TestRegtest } from '../support/regtest.ts'
import { isLightningMissing } from './servers.ts'
import { runProgram, runSuccessfully } from '../support/processes.ts'

const cli = join(import.meta.dirname, '../../packages/cli/src/main.ts')

type Node = { readonly alias: string; readonly role: string; readonly uri: string; readonly version: string }
type Payment = { readonly state: string; readonly payment_hash: string }
type Channel = { readonly active: boolean; readonly private: boolean }

describe.skipIf(isLightningMissing)('npm run regtest', () => {
  const dataDir = makeTempFolder()
  let regtest: TestRegtest
  const cliCommand = (args: readonly string[]): readonly [string, readonly string[], SpawnOptions] => [
    process.execPath,
    [cli, 'regtest', ...args, '--json'],
    { env: { PATH: process.env['PATH'], PENSTOCK_DATA_DIR: dataDir } },
  ]
  const penstock = async <T>(...args: readonly string[]): Promise<T> =>
    JSON.parse((await runSuccessfully(...cliCommand(args))).stdout) as T // the caller states the type
  const channels = () => penstock<readonly Channel[]>('channels', 'buyer')
  const height = () => regtest.network.servers.chain.rpc<number>('getblockcount')
  beforeAll(async () => {
    if (!isLightningMissing) regtest = await startRegtest(dataDir, { PENSTOCK_OPEN_WINDOW_SECONDS: '20' })
  }, 300_000)
  afterAll(() => regtest?.stop(), 60_000)

  async function sellChannel(): Promise<void> {
    const buyer = (await penstock<readonly Node[]>('nodes')).find(({ role }) => role === 'buyer')
    const before = (await channels()).length
    const purchase = await buyChannel(regtest, { connection_uri: buyer?.uri ?? '' })
    const { state, payment_hash } = await penstock<Payment>('pay', purchase.invoice)
    expect(state).toBe('IN_FLIGHT')
    // The state that chaos tests check: the payment at the payer's node, and its HTLCs at both nodes.
    const readPaymentState = async () => {
      const { payments, heldHtlcs, marketPubkey } = await readLightningState(regtest.network)
      const htlcs = heldHtlcs.filter((htlc) => htlc.payment_hash === payment_hash)
      return [
        payments.find((one) => one.payment_hash === payment_hash)?.state,
        htlcs.map(({ receiver }) => receiver === marketPubkey),
      ]
    }
    expect(await readPaymentState()).toEqual(['in-flight', [true, true]])
    await waitForResult(
      'the channel is valid',
      async () => {
        await penstock('mine', '1')
        return (await readOrder(regtest, purchase)).status === 'VALID_CHANNEL_OPENING'
      },
      150_000,
    )
    await waitForResult('it succeeds', async () => (await penstock<Payment>('payment', payment_hash)).state === 'SUCCEEDED')
    expect((await channels()).length).toBe(before + 1)
    expect(await readPaymentState()).toEqual(['succeeded', []])
  }

  it('cancels the payment when every seller is stopped', async () => {
    const nodes = await penstock<readonly Node[]>('nodes')
    const sellers = nodes.filter(({ role }) => role === 'seller').map(({ alias }) => alias)
    const isRunning = () => sellers.filter((alias) => regtest.processes().some(({ name }) => name === alias))
    const before = await channels()
    const purchase = await buyChannel(regtest, { connection_uri: nodes.find(({ role }) => role === 'buyer')?.uri ?? '' })
    for (const alias of sellers) expect(await penstock('agent', alias, 'stop')).toEqual({ alias, agent: 'stopped' })
    expect(isRunning()).toEqual([])
    const { state, payment_hash } = await penstock<Payment>('pay', purchase.invoice)
    expect(state).toBe('IN_FLIGHT')
    // A second payer cannot pay the same invoice.
    expect((await penstock<Payment>('pay', purchase.invoice, '--from', 'buyer-two')).state).toBe('FAILED')
    await waitForStatus(regtest, purchase, ['SELLER_FAILED_TO_OPEN_CHANNEL'], 150_000)
    await waitForResult('the payment fails', async () => (await penstock<Payment>('payment', payment_hash)).state === 'FAILED')
    expect(await channels()).toEqual(before)
    for (const alias of sellers) expect(await penstock('agent', alias, 'start')).toEqual({ alias, agent: 'started' })
    expect(isRunning()).toEqual(sellers)
  })

  it('cancels a held payment before it mines blocks past the expiry height, and closes no channel', async () => {
    const nodes = await penstock<readonly Node[]>('nodes')
    const sellers = nodes.filter(({ role }) => role === 'seller').map(({ alias }) => alias)
    const before = await channels()
    const purchase = await buyChannel(regtest, { connection_uri: nodes.find(({ role }) => role === 'buyer')?.uri ?? '' })
    for (const alias of sellers) await penstock('agent', alias, 'stop')
    const { state, payment_hash } = await penstock<Payment>('pay', purchase.invoice)
    expect(state).toBe('IN_FLIGHT')
    const market = regtest.network.nodeByAlias('market')
    const findPendingHtlc = async () => (await listPendingHtlcs(market.lnd)).find((htlc) => htlc.paymentHash === payment_hash)
    const [now, ends = 0] = [await height(), (await findPendingHtlc())?.expiryHeight]
    const blocks = ends - now + 12
    let areMined = false
    // Three concurrent requests for blocks.
    const mining = Promise.all([penstock('mine', `${blocks}`), penstock('mine', '1'), regtest.network.servers.mine()])
    const mined = mining.finally(() => (areMined = true))
    const heldAt: number[] = []
    await waitForResult('the blocks are mined', async () => {
      const at = await height()
      if (await findPendingHtlc()) heldAt.push(at)
      return areMined
    })
    await mined
    expect(Math.max(now, ...heldAt)).toBeLessThanOrEqual(ends - 24)
    expect(await height()).toBe(now + blocks + 2)
    expect((await penstock<Payment>('payment', payment_hash.toUpperCase())).state).toBe('FAILED')
    expect(await channels()).toEqual(before)
    for (const alias of sellers) await penstock('agent', alias, 'start')
  }, 240_000)

  it('sells a channel by the commands of `penstock`, with the restarted sellers', sellChannel)

  it('restarts a killed node, and a killed btcd with its chain', async () => {
    for (const alias of ['market', 'btcd']) {
      const before = await height()
      await penstock('kill', alias)
      await waitForResult(`the chain is unchanged after the kill of ${alias}`, async () => (await height()) === before)
      await waitForResult('blocks are mined again', () => penstock<{ height: number }>('mine', '1'))
      expect(await height()).toBe(before + 1)
    }
    await sellChannel()
  }, 240_000)

  it('resumes with its chain and channels after a stop', async () => {
    const [heightBefore, channelsBefore] = [await height(), (await channels()).length]
    await regtest.stop()
    regtest = await startRegtest(dataDir, { PENSTOCK_OPEN_WINDOW_SECONDS: '20' })
    expect(await height()).toBeGreaterThanOrEqual(heightBefore)
    expect((await channels()).length).toBe(channelsBefore)
    await sellChannel()
  }, 300_000)

  it('explains why it cannot execute a command', async () => {
    const runCli = async (...args: readonly string[]): Promise<string> => (await runProgram(...cliCommand(args))).stderr
    expect(await runCli('channels', 'nobody')).toMatch(/There is no node nobody; there are market, /)
    expect(await runCli('agent', 'buyer', 'stop')).toMatch(/There is no seller buyer/)
    expect(await runCli('pay', 'lnbcrt1')).toMatch(/That is no BOLT 11 invoice/)
    expect(await runCli('payment', '00'.repeat(32))).toMatch(/Nobody here pays/)
    expect(await runCli('payment', '00')).toMatch(/A payment hash has 64 hex digits/)
    expect(await runCli('mine', '1001')).toMatch(/a whole number from 1 to 1000/)
  })
})
