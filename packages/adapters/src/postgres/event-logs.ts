/** Maps each category to the service whose log has its streams. */
export type EventLogs = ReadonlyMap<string, string>

/** The sequence from which all logs take the numbers of their positions. */
export const POSITION_SEQUENCE = 'event_log_position'

/** @returns the name of a service in SQL identifiers @throws RangeError for a name with other characters than a-z and "-" */
export function toSqlName(service: string): string {
  if (!/^[a-z][a-z-]*$/.test(service)) throw new RangeError(`"${service}" cannot be the name of a log`)
  return service.replaceAll('-', '_')
}

export const logTableOf = (service: string): string => `event_log_${toSqlName(service)}`
/** Names the SQL function that appends to the log of a service. */
export const appendFunctionOf = (service: string): string => `append_to_${logTableOf(service)}`

/** The services that have a log, each once. */
export const servicesOf = (logs: EventLogs): readonly string[] => [...new Set(logs.values())].toSorted()

export const categoriesOf = (logs: EventLogs, service: string): readonly string[] =>
  [...logs].filter(([, owner]) => owner === service).map(([category]) => category)
