import type { KurrentSettings } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { kurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import type { TableFault } from '@penstock/adapters/shared/table-fault.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Config } from '@penstock/runtime/config.ts'
import type { Log } from '@penstock/runtime/log.ts'

type StoreConfig = Pick<Config, 'eventStore' | 'eventStorePasswordFile'>

const kurrentSettings = ({ eventStore: url, eventStorePasswordFile: passwordFile }: StoreConfig): KurrentSettings => ({
  url,
  ...(passwordFile !== '' && { passwordFile }),
})

/** @throws Fault where the server does not answer, or not this user; Error where the url cannot be used */
export async function openKurrent(config: StoreConfig, log: Log): Promise<EventStore> {
  const store = kurrentEventStore({
    ...kurrentSettings(config),
    onFault: (fault) => log.warn({ reason: fault.message }, 'the event store cannot be followed; trying again'),
    onRecovered: () => log.warn({}, 'the event store is followed again'),
  })
  try {
    await store.readAll('start', 1)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** What the settings of its streams hide. @throws Fault where the server does not answer */
export const kurrentFaults = (config: StoreConfig): Promise<readonly TableFault[]> =>
  kurrentSettingsFaults(kurrentSettings(config))
