import type { Rebuilt } from '@penstock/runtime/rebuild.ts'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { answer, bodyOf } from './answers.ts'

/** Makes read models anew; all of them where none is named. */
export type RebuildViews = (names: readonly string[]) => Promise<readonly Rebuilt[]>

const wanted = z.strictObject({ projections: z.array(z.enum(['orders', 'market', 'accounts'])).default([]) })

/** Answers when the new read models are in use. */
export const viewsRoute = (rebuildViews: RebuildViews): RequestHandler =>
  answer(async ({ body }) => ({ rebuilt: await rebuildViews(bodyOf(wanted, body ?? {}).projections) }))
