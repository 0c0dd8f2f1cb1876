import type { KurrentSettings } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { findKurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import type { SchemaFault } from '@penstock/adapters/shared/schema-check.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Config } from '@penstock/config/config.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'

type StoreConfig = Pick<Config, 'eventStore' | 'eventStorePasswordFile'>

const toKurrentSettings = ({ eventStore: url, eventStorePasswordFile: passwordFile }: StoreConfig): KurrentSettings => ({
  url,
  ...(passwordFile !== '' && { passwordFile }),
})

/** @throws Fault if the server does not answer or rejects the user; Error if the url cannot be used */
export async function openKurrent(config: StoreConfig, log: Logger): Promise<EventStore> {
  const store = kurrentEventStore({
    ...toKurrentSettings(config),
    onFault: (fault) => log.warn({ reason: fault.message }, 'following the event store failed; retrying'),
    onRecovered: () => log.warn({}, 'following the event store resumed'),
  })
  try {
    await store.readAll('start', 1)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Reports a stream whose settings hide its events, and a deleted stream. @throws Fault if the server does not answer */
export const findKurrentFaults = (config: StoreConfig): Promise<readonly SchemaFault[]> =>
  findKurrentSettingsFaults(toKurrentSettings(config))
