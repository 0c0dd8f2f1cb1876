import { serviceKeyContract } from '@penstock/contracts/payments/service-key.ts'
import { applyEach, type Area, readSdl } from '../../area.ts'
import { createServiceKey } from './create-key.ts'
import { getServiceKeys } from './get-keys.ts'
import { applyToServiceKeys } from './projection.ts'
import { revokeServiceKey } from './revoke-key.ts'
import { serviceKeyMigrations } from './tables.ts'
import { updateServiceKey } from './update-key.ts'

/** Keys by which the services of a team call payments. */
export const serviceKeyArea: Area = {
  sdl: [readSdl('service-key.graphql', import.meta.url)],
  useCases: [getServiceKeys, createServiceKey, updateServiceKey, revokeServiceKey],
  projections: [
    {
      name: 'service keys',
      version: 1,
      from: [serviceKeyContract],
      // The uses of keys are not folded from facts.
      tables: ['gateway_service_keys'],
      apply: applyEach(applyToServiceKeys),
    },
  ],
  migrations: serviceKeyMigrations,
}
