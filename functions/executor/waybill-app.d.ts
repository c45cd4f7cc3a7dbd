/** The user's app. The bundler puts its module in place of this specifier. */
declare module 'waybill:app' {
  const app: ReturnType<typeof import('../../shared/index.ts').app>;
  export default app;
}
