import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FIRST_ORDER, type SettlementMarket, openSettlementMarket } from './market.fixture.ts'
import { settlementService } from './service.ts'

let market: SettlementMarket
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lost-key-'))
  market = await openSettlementMarket()
  await market.issueHold()
})
afterEach(async () => {
  await market.close()
  rmSync(folder, { recursive: true })
})

const newKeyring = (): Keyring => fileKeyring(folder, { network: 'regtest', environment: 'test' })

/** As if another key had the name of the old one, such as in a Secret that was made anew. */
function newKeyringWithOldName(): Keyring {
  const keyring = newKeyring()
  const { keyId } = keyring.paymentHashOf('x', 1)
  return { ...keyring, preimageOf: (_, orderId, issue) => keyring.preimageOf(keyId, orderId, issue) }
}

async function startWith(keyring: Keyring, env: { readonly restored?: boolean } = {}): Promise<void> {
  const { platform } = market.world
  const services = [bind(settlementService(), { ...market.ports, keyring })]
  const running = await run(services, { ...platform, config: { ...platform.config, ...env } })
  await running.close()
}

test.each([
  ['lacks the key', newKeyring, {}],
  ['has another key of that name', newKeyringWithOldName, {}],
  ['lacks the key after a restore', newKeyring, { restored: true }],
])('settlement refuses to start while a payment is held and the keyring %s', async (_, openKeyring, env) => {
  await market.payHold()
  await market.stop()
  const { paymentHash, keyId } = (await market.fact('HoldRequested')).data
  await expect(startWith(openKeyring(), env)).rejects.toThrow(
    `cancel these payments at the node: ${paymentHash} (key "${keyId}")`,
  )
  await startWith(market.ports.keyring, env)
})

test('settlement refuses to start with an open invoice, because it may be paid at any moment', async () => {
  await market.fact('HoldIssued')
  await market.stop()
  await expect(startWith(newKeyring())).rejects.toThrow('put back the keyring')
})

test('once the node has cancelled the payment, settlement starts without its key', async () => {
  const { paymentHash } = (await market.payHold(), await market.fact('HoldRequested')).data
  await market.stop()
  await market.ports.lightning.holds.cancel(paymentHash)
  await startWith(newKeyring())
})

test('a hold whose node does not answer counts as open', async () => {
  const { paymentHash } = (await market.payHold(), await market.fact('HoldRequested')).data
  await market.stop()
  await market.ports.lightning.holds.cancel(paymentHash)
  const find = () => Promise.reject(new Fault('the node does not answer'))
  const { lightning } = market.ports
  const ports = { ...market.ports, keyring: newKeyring(), lightning: { ...lightning, holds: { ...lightning.holds, find } } }
  await expect(run([bind(settlementService(), ports)], market.world.platform)).rejects.toThrow('put back the keyring')
})

test('after the settlement, settlement starts without the key and logs that the buyer cannot prove its payment', async () => {
  const outpoint = await market.openAndRegister(await market.payHold())
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  await market.stop()
  const { keyId } = (await market.fact('HoldRequested')).data
  const { platform } = market.world
  vi.spyOn(platform.log, 'child').mockReturnValue(platform.log)
  const error = vi.spyOn(platform.log, 'error')
  await startWith(market.ports.keyring)
  expect(error).not.toHaveBeenCalled()
  await startWith(newKeyring())
  expect(error).toHaveBeenCalledWith({ order: FIRST_ORDER, keyId }, expect.stringContaining('prove its payment'))
})
