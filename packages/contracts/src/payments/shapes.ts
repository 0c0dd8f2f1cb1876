import { z } from 'zod'
import { amount, instant, uuid } from '../shapes.ts'

export const environmentType = z.enum(['SANDBOX', 'LIVE'])
export type EnvironmentType = z.output<typeof environmentType>

/** The id of an asset that a wallet can hold. BTC has the fixed id of `assets.ts`. */
const assetId = z.string().min(1).max(128)

/** The end that a caller chose for a transaction of a sandbox (`svc_sandbox_behavior`). */
export const sandboxBehavior = z.enum(['complete', 'fail', 'expire'])
export type SandboxBehavior = z.output<typeof sandboxBehavior>

/** The dollar rate that was valid at that time; null if no fresh rate was known. */
export const recordedRate = z.strictObject({ centsPerBtc: amount, at: instant }).nullable()
export type RecordedRate = z.output<typeof recordedRate>

/** The wallet of a transaction, with the environment and the team that own it. */
export const walletReference = z.strictObject({
  walletId: uuid,
  environmentId: uuid,
  environmentType,
  teamId: uuid,
  assetId,
})

/** The reason why a transaction failed. `sandbox`: its caller had asked for a failure. */
export const failureReason = z.enum(['sandbox'])
export type FailureReason = z.output<typeof failureReason>
