import { accountArea } from './account/area.ts'
import type { Area } from './area.ts'
import { lsps1Area } from './lsps1/area.ts'
import { marketArea } from './market/area.ts'
import { paymentsArea } from './payments/area.ts'
import { serviceKeyArea } from './payments/keys/area.ts'
import { webhookArea } from './payments/webhooks/area.ts'

/** All areas, in the order of their projections. A new area is a folder and a line here. */
export const areas: readonly Area[] = [marketArea, accountArea, lsps1Area, paymentsArea, serviceKeyArea, webhookArea]

export const useCases = areas.flatMap((area) => area.useCases ?? [])
