/** Whether this run is `npm run proof -- --short`, in which long test files run a part of their cases. */
export const isShortProof = process.env['PENSTOCK_PROOF_SHORT'] !== undefined
