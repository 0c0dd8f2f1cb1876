import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { cancelPendingChannel, fundPendingChannels, fundPsbt, openChannels, signPsbt } from 'lightning'
import { freeCoins, freeForgotten, keepCoins, type Lock, lockName, named } from './coin-locks.ts'
import type { Connection } from './connection.ts'
import { ownChannels } from './own-channels.ts'
import { peers } from './peers.ts'
import { Refusal } from './refusal.ts'
import { wallet } from './wallet.ts'

const NEGOTIATION_MS = 30_000
const LOOK_AGAIN_MS = 100

/**
 * Negotiates a channel and keeps its funding back, in lnd's order: the peer accepts, coins are chosen and locked, the
 * transaction is signed, the peer signs our way out of it. Only then there is a channel, and a funding worth anything.
 * @param inHand names of the locks of openings under way
 * @throws OpenRefused
 */
export async function prepareFunding(node: Connection, inHand: Set<string>, request: OpenRequest): Promise<UnpublishedFunding> {
  if (!(await peers(node).isConnected(request.peer))) throw new OpenRefused('peer-offline', `not connected to ${request.peer}`)
  await freeForgotten(node, inHand)
  if ((await wallet(node).confirmedSat()) < request.capacitySat)
    throw new OpenRefused('insufficient-funds', `the wallet has too few confirmed coins for ${request.capacitySat} sat`)
  const { id, address, tokens } = await propose(node, request)
  let locks: readonly Lock[] = []
  let name: string | undefined
  try {
    const chosen = await chooseCoins(node, address, tokens, request.feeRateSatPerVbyte)
    locks = chosen.locks
    const { psbt, transaction } = await node.ask((lnd) => signPsbt({ lnd, psbt: chosen.psbt }))
    const { txid, outputs } = readTransaction(transaction)
    name = lockName(txid)
    inHand.add(name)
    await keepCoins(node, locks, name)
    await node.ask((lnd) => fundPendingChannels({ lnd, channels: [id], funding: psbt }))
    const outpoint = `${txid}:${outputs.findIndex(({ script }) => script === chosen.script)}`
    await isNegotiated(node, outpoint)
    return { outpoint, handle: transaction }
  } catch (error) {
    await node.ask((lnd) => cancelPendingChannel({ lnd, id })).catch(ignored)
    // Under lnd's name and under ours: where their taking over broke off, each coin has one of the two.
    await freeCoins(node, name === undefined ? locks : [...locks, ...named(locks, name)]).catch(ignored)
    throw asRefused(error)
  } finally {
    if (name !== undefined) inHand.delete(name)
  }
}

type Proposal = { readonly id: string; readonly address: string; readonly tokens: number }

async function propose({ ask }: Connection, request: OpenRequest): Promise<Proposal> {
  try {
    const { pending } = await ask(
      (lnd) =>
        openChannels({
          lnd,
          is_avoiding_broadcast: true,
          channels: [
            {
              capacity: Number(request.capacitySat),
              partner_public_key: request.peer,
              is_private: request.isPrivate,
              ...(request.baseFeeMsat !== undefined && { base_fee_mtokens: `${request.baseFeeMsat}` }),
              ...(request.feeRatePpm !== undefined && { fee_rate: request.feeRatePpm }),
            },
          ],
        }),
      NEGOTIATION_MS,
    )
    const [proposal] = pending
    if (proposal) return proposal
  } catch (error) {
    throw asRefused(error)
  }
  throw new OpenRefused('node-failed', 'lnd proposed no channel')
}

type Chosen = { readonly psbt: string; readonly script: string; readonly locks: readonly Lock[] }

async function chooseCoins({ ask }: Connection, address: string, tokens: number, feeRate: number): Promise<Chosen> {
  const funded = await ask((lnd) =>
    fundPsbt({
      lnd,
      outputs: [{ address, tokens }],
      fee_tokens_per_vbyte: Math.max(1, Math.ceil(feeRate)),
      min_confirmations: 1,
    }),
  )
  const script = funded.outputs.find((output) => !output.is_change)?.output_script ?? ''
  const locks = funded.inputs.map(({ lock_id, ...coin }) => ({ ...coin, id: lock_id ?? '' }))
  return { psbt: funded.psbt, script, locks }
}

/** lnd takes the funding at once and goes on with the peer; the channel is listed once both have signed. */
async function isNegotiated(node: Connection, outpoint: string): Promise<void> {
  const end = node.clock.now() + NEGOTIATION_MS
  while (node.clock.now() < end) {
    if ((await ownChannels(node)).some((channel) => channel.outpoint === outpoint)) return
    await node.clock.sleep(LOOK_AGAIN_MS)
  }
  throw new OpenRefused('peer-refused', 'the peer did not sign the channel')
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

/** Cleaning up: the failure that led to it is told. */
function ignored(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}
