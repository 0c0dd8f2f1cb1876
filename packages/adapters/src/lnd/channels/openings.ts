import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest, type UnpublishedFunding } from '@penstock/ports/lightning.ts'
import { signPsbt } from 'lightning'
import {
  releaseLocks,
  releaseOrphanedLocks,
  extendLocks,
  findLocks,
  createLockId,
  memoOf,
  type OpeningTracker,
} from './utxo-locks.ts'
import type { LndConnection } from '../connection.ts'
import { createPeersPort } from '../peers.ts'
import { type AcceptedOpening, startNegotiation } from './channel-negotiation.ts'
import { callGrpc } from '../grpc-calls.ts'
import { LndRefusal, LndUnreachable } from '../rpc-errors.ts'
import { createWalletPort } from '../wallet.ts'

/**
 * Prepares a channel without publishing its funding, in lnd's order: the peer accepts, coins are selected and locked, the funding
 * is signed, and the peer signs our commitment transaction. Only then does the channel exist, and its funding may be published.
 * @throws OpenRefused
 */
export async function prepareOpening(
  node: LndConnection,
  tracker: OpeningTracker,
  request: OpenRequest,
): Promise<UnpublishedFunding> {
  if (!(await createPeersPort(node, null).isConnected(request.peer)))
    throw new OpenRefused('peer-offline', `not connected to ${request.peer}`)
  await releaseOrphanedLocks(node, tracker)
  if ((await createWalletPort(node).confirmedSat()) < request.capacitySat)
    throw new OpenRefused('insufficient-funds', `the wallet has too few confirmed coins for ${request.capacitySat} sat`)
  const lockId = createLockId()
  tracker.activeLockIds.add(lockId)
  try {
    return await negotiateOpening(node, tracker, request, lockId)
  } catch (error) {
    throw toOpenRefused(error)
  } finally {
    tracker.activeLockIds.delete(lockId)
  }
}

async function negotiateOpening(
  node: LndConnection,
  tracker: OpeningTracker,
  request: OpenRequest,
  lockId: string,
): Promise<UnpublishedFunding> {
  const negotiation = startNegotiation(node, request, memoOf(lockId))
  try {
    const accepted = await negotiation.waitForAcceptance()
    const funding = await runExclusively(tracker, async () => {
      const { psbt, ...prepared } = await signFunding(node, accepted, lockId, request.feeRateSatPerVbyte)
      await negotiation.fund(psbt)
      return prepared
    })
    await negotiation.waitForSignatures()
    return funding
  } catch (error) {
    try {
      await runExclusively(tracker, () => negotiation.withdraw())
      await releaseLocks(node, await findLocks(node, lockId))
    } catch (cleanupError) {
      // Remaining locks are released before the next opening. If lnd is unreachable, the state of this opening is unknown.
      if (!(cleanupError instanceof Fault)) throw cleanupError
      if (cleanupError instanceof LndUnreachable) throw cleanupError
    }
    throw error
  }
}

/**
 * Runs one step at a time. lnd 0.20 deadlocks if it verifies one funding and cancels another at the same time: both take the
 * same locks in a different order. No step waits for a peer.
 */
async function runExclusively<T>({ mutex }: OpeningTracker, run: () => Promise<T>): Promise<T> {
  await mutex.acquire()
  try {
    return await run()
  } finally {
    mutex.release()
  }
}

type SignedFunding = UnpublishedFunding & { readonly psbt: string }

async function signFunding(
  node: LndConnection,
  accepted: AcceptedOpening,
  lockId: string,
  feeRate: number,
): Promise<SignedFunding> {
  const funded = await selectUtxos(node, accepted, lockId, feeRate)
  const { psbt, transaction } = await node.ask((lnd) => signPsbt({ lnd, psbt: funded.psbt }))
  await extendLocks(node, await findLocks(node, lockId))
  return { psbt, outpoint: `${readTransaction(transaction).txid}:${funded.vout}`, handle: transaction }
}

type FundPsbtResponse = { readonly funded_psbt: Buffer; readonly change_output_index: number }
type FundPsbt = (request: object, done: (error: object | null, answer?: FundPsbtResponse) => void) => void

type FundedPsbt = { readonly psbt: string; readonly vout: number }

/**
 * Selects and locks coins under our lock id. `lightning` would use its own lock id, which does not identify the opening after a
 * crash.
 */
async function selectUtxos(
  { ask }: LndConnection,
  { address, amountSat }: AcceptedOpening,
  lockId: string,
  feeRate: number,
): Promise<FundedPsbt> {
  const request = {
    raw: { outputs: { [address]: amountSat } },
    sat_per_vbyte: Math.max(1, Math.ceil(feeRate)),
    min_confs: 1,
    change_type: 'CHANGE_ADDRESS_TYPE_P2TR',
    custom_lock_id: Buffer.from(lockId, 'hex'),
  }
  const answer = await ask((lnd) => {
    // The package leaves lnd's own calls untyped (walletkit.proto: FundPsbt).
    const service = lnd.wallet as { fundPsbt: FundPsbt }
    return callGrpc<FundPsbtResponse>('FundPsbt', (done) => service.fundPsbt(request, done))
  })
  if (!answer) throw new Fault('lnd answered FundPsbt without a result')
  return { psbt: answer.funded_psbt.toString('hex'), vout: answer.change_output_index === 0 ? 1 : 0 }
}

/** Error texts of lnd, and of the peer whose errors lnd passes on. */
const REASONS: readonly (readonly [pattern: RegExp, reason: OpenRefused['reason']])[] = [
  [
    /is not online|is not connected|peer disconnected|unable to find peer|not found in the list of connected peers/,
    'peer-offline',
  ],
  [/insufficient funds|not enough|reserved wallet balance|insufficient .*balance/, 'insufficient-funds'],
  [/received funding error|peer|pending channels exceed|rejected/i, 'peer-refused'],
]

function toOpenRefused(error: unknown): unknown {
  if (!(error instanceof LndRefusal)) return error
  const reason = REASONS.find(([pattern]) => pattern.test(error.details))?.[1] ?? 'node-failed'
  return new OpenRefused(reason, error.message)
}
