import { z } from 'zod'

/**
 * The reason why a hold is cancelled. `released`: the order needs it no more. `last-height`: the guard decided so. `expired`:
 * the invoice was not paid in time. `node`: our node cancelled it by itself. `no-slot`: the payer's peer has too many HTLCs.
 */
export const cancelReason = z.enum(['released', 'last-height', 'expired', 'node', 'no-slot'])
/**
 * The verdict about the channel of a cancelled hold. `wrong`: its value, script, peers or terms are wrong. `spent`: a
 * block contains a spend of its funding. `unconfirmed`: no block contains its funding. `unproven`: it has no peer proof.
 * `unnamed`: the seller submitted no outpoint.
 */
export const channelVerdict = z.enum(['wrong', 'spent', 'unconfirmed', 'unproven', 'unnamed'])
