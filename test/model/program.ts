import { installTlc, explainMissingTlc } from '../../tools/tlc.ts'
import { isSkipped } from '../support/skip.ts'

/** The argument of `describe.skipIf` for suites that need TLC. */
export const isTlcMissing = isSkipped('Checks of the model of the money protocol are', explainMissingTlc())

export const installJar = (): string => installTlc()
