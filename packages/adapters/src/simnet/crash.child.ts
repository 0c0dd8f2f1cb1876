import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { systemClock } from '../system/clock.ts'
import { openSimnet } from './simnet.ts'

/** Works on a network without a pause until it is killed. Each line on stdout reports a call that was answered. */
const { control, ...simnet } = openSimnet({ path: process.argv[2] ?? '', blockSeconds: 0, clock: systemClock })
const market = simnet.lightning('market')
const seller = simnet.lightning('seller-ada')
const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
await seller.peers.connect(buyer, 'buyer.sim:9735')
const report = (line: string): void => void writeSync(1, `${line}\n`)

for (let round = 0; ; round++) {
  const preimage = randomBytes(32).toString('hex')
  const paymentHash = paymentHashOf(preimage)
  const { request } = await market.holds.create({
    paymentHash,
    amountMsat: 5_000_000n,
    cltvDelta: 144,
    expirySeconds: 3600,
    description: 'an order',
  })
  control.pay('buyer', request)
  report(`held ${paymentHash}`)
  const funding = await seller.channels.prepare({ peer: buyer, capacitySat: 500_000n, isPrivate: false, feeRateSatPerVbyte: 2 })
  report(`prepared ${funding.outpoint}`)
  await seller.channels.publish(funding)
  report(`published ${funding.outpoint}`)
  if (round % 3 === 0) {
    await market.holds.settle(preimage)
    report(`settled ${paymentHash}`)
  }
  if (round % 3 === 1) {
    await market.holds.cancel(paymentHash)
    report(`cancelled ${paymentHash}`)
  }
  control.mine(2)
  if (round % 5 === 4) control.reorg(2)
}
