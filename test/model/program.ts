import { installTlc, tlcMissing } from '../../tools/tlc.ts'

const missing = tlcMissing()
// Where everything is tested, a machine without Java or pip is a mistake.
if (missing !== undefined && process.env['CI'] !== undefined) throw new Error(missing)
if (missing !== undefined) console.log(`The model of the money protocol is not checked. ${missing}`)

/** For `describe.skipIf`. */
export const noTlc = missing !== undefined

export const jar = (): string => installTlc()
