import { append } from './append.ts'
import { audit } from './audit.ts'
import { buy } from './buy.ts'
import { fold } from './fold.ts'
import { getOrder } from './get-order.ts'
import type { Subject } from './harness.ts'
import { life } from './life.ts'
import { projecting } from './projection.ts'
import { start } from './start.ts'

/** In this order: `start` goes on with the store that `audit` has read, and leaves it changed. */
export const subjects: readonly Subject[] = [append, fold, life, projecting, audit, getOrder, buy, start]
