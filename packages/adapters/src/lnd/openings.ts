import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { signPsbt } from 'lightning'
import { freeCoins, freeForgotten, keepCoins, locksNamed, newLockName, noteOf, type Openings } from './coin-locks.ts'
import type { Connection } from './connection.ts'
import { peers } from './peers.ts'
import { type Accepted, propose } from './proposal.ts'
import { asked } from './raw-calls.ts'
import { Refusal, Unreached } from './refusal.ts'
import { wallet } from './wallet.ts'

/**
 * Negotiates a channel and keeps its funding back, in lnd's order: the peer accepts, coins are chosen and locked, the
 * transaction is signed, the peer signs our way out of it. Only then there is a channel, and a funding worth anything.
 * @throws OpenRefused
 */
export async function prepareFunding(node: Connection, openings: Openings, request: OpenRequest): Promise<UnpublishedFunding> {
  if (!(await peers(node, null).isConnected(request.peer)))
    throw new OpenRefused('peer-offline', `not connected to ${request.peer}`)
  await freeForgotten(node, openings)
  if ((await wallet(node).confirmedSat()) < request.capacitySat)
    throw new OpenRefused('insufficient-funds', `the wallet has too few confirmed coins for ${request.capacitySat} sat`)
  const name = newLockName()
  openings.inHand.add(name)
  try {
    return await negotiate(node, openings, request, name)
  } catch (error) {
    throw asRefused(error)
  } finally {
    openings.inHand.delete(name)
  }
}

async function negotiate(node: Connection, openings: Openings, request: OpenRequest, name: string): Promise<UnpublishedFunding> {
  const proposal = propose(node, request, noteOf(name))
  try {
    const accepted = await proposal.accepted()
    const funding = await inTurn(openings, async () => {
      const { psbt, ...prepared } = await signedFunding(node, accepted, name, request.feeRateSatPerVbyte)
      await proposal.fund(psbt)
      return prepared
    })
    await proposal.signed()
    return funding
  } catch (error) {
    try {
      await inTurn(openings, () => proposal.withdraw())
      await freeCoins(node, await locksNamed(node, name))
    } catch (trouble) {
      // What cannot be freed now is freed before the next opening. Where lnd is away, nobody knows what became of this one.
      if (!(trouble instanceof Fault)) throw trouble
      if (trouble instanceof Unreached) throw trouble
    }
    throw error
  }
}

/**
 * lnd 0.20 stands still for ever where it verifies one funding while it takes back another: the two want the same locks in
 * different order, and with more at a time they meet. None of this waits for a peer.
 */
async function inTurn<T>({ turn }: Openings, work: () => Promise<T>): Promise<T> {
  await turn.take()
  try {
    return await work()
  } finally {
    turn.giveBack()
  }
}

type Signed = UnpublishedFunding & { readonly psbt: string }

async function signedFunding(node: Connection, accepted: Accepted, name: string, feeRate: number): Promise<Signed> {
  const chosen = await chooseCoins(node, accepted, name, feeRate)
  const { psbt, transaction } = await node.ask((lnd) => signPsbt({ lnd, psbt: chosen.psbt }))
  await keepCoins(node, await locksNamed(node, name))
  return { psbt, outpoint: `${readTransaction(transaction).txid}:${chosen.vout}`, handle: transaction }
}

type Funded = { readonly funded_psbt: Buffer; readonly change_output_index: number }
type FundPsbt = (request: object, done: (error: object | null, answer?: Funded) => void) => void

type Chosen = { readonly psbt: string; readonly vout: number }

/** `lightning` has lnd lock the coins under its own name, from which nobody could tell whose they were after a crash. */
async function chooseCoins(
  { ask }: Connection,
  { address, amountSat }: Accepted,
  name: string,
  feeRate: number,
): Promise<Chosen> {
  const request = {
    raw: { outputs: { [address]: amountSat } },
    sat_per_vbyte: Math.max(1, Math.ceil(feeRate)),
    min_confs: 1,
    change_type: 'CHANGE_ADDRESS_TYPE_P2TR',
    custom_lock_id: Buffer.from(name, 'hex'),
  }
  const answer = await ask((lnd) => {
    // The package leaves lnd's own calls untyped (walletkit.proto: FundPsbt).
    const service = lnd.wallet as { fundPsbt: FundPsbt }
    return asked<Funded>('FundPsbt', (done) => service.fundPsbt(request, done))
  })
  if (!answer) throw new Fault('lnd answered FundPsbt with nothing')
  return { psbt: answer.funded_psbt.toString('hex'), vout: answer.change_output_index === 0 ? 1 : 0 }
}

/** In lnd's own words and those of the peer that it hands on. */
const REASONS: readonly (readonly [words: RegExp, reason: OpenRefused['reason']])[] = [
  [
    /is not online|is not connected|peer disconnected|unable to find peer|not found in the list of connected peers/,
    'peer-offline',
  ],
  [/insufficient funds|not enough|reserved wallet balance|insufficient .*balance/, 'insufficient-funds'],
  [/received funding error|peer|pending channels exceed|rejected/i, 'peer-refused'],
]

function asRefused(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const reason = REASONS.find(([words]) => words.test(error.said))?.[1] ?? 'node-failed'
  return new OpenRefused(reason, error.message)
}
