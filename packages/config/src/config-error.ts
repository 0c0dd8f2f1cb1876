/** A setting or a data folder cannot be used. The message says what to change; at the start it lists every invalid variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
