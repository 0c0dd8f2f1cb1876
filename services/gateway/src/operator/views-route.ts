import type { RebuiltProjection } from '@penstock/runtime/views/rebuild.ts'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { projectionNames } from '../projections.ts'
import { respondWithJson, parseOperatorBody } from './http.ts'

/** Rebuilds the given read models; without a name it rebuilds all read models. */
export type RebuildViews = (names: readonly string[]) => Promise<readonly RebuiltProjection[]>

const rebuildBody = z.strictObject({ projections: z.array(z.enum(projectionNames)).default([]) })

/** Answers when the new read models are in use. */
export const createRebuildHandler = (rebuildViews: RebuildViews): RequestHandler =>
  respondWithJson(async ({ body }) => ({ rebuilt: await rebuildViews(parseOperatorBody(rebuildBody, body ?? {}).projections) }))
