/** Maps each category to the service whose log has its streams. */
export type EventLogs = ReadonlyMap<string, string>

/** The sequence from which all logs take the numbers of their positions. */
export const POSITIONS = 'event_log_position'

/** Names of services in SQL. @throws RangeError for one that could not stand in a table's name as it is */
export function sqlName(service: string): string {
  if (!/^[a-z][a-z-]*$/.test(service)) throw new RangeError(`"${service}" cannot be the name of a log`)
  return service.replaceAll('-', '_')
}

export const tableOf = (service: string): string => `event_log_${sqlName(service)}`
/** Names the SQL function that appends to the log of a service. */
export const appendOf = (service: string): string => `append_to_${tableOf(service)}`

/** The services that have a log, each once. */
export const servicesOf = (logs: EventLogs): readonly string[] => [...new Set(logs.values())].toSorted()

export const categoriesOf = (logs: EventLogs, service: string): readonly string[] =>
  [...logs].filter(([, owner]) => owner === service).map(([category]) => category)
