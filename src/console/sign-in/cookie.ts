// Session cookie of the console. Its name contains the port, because browsers share cookies between the ports of a host.

/** The cookie's name for a Host header, which access control has checked. */
export function cookieName(host: string | undefined): string {
  const port = /:(\d{1,5})$/.exec(host ?? "")?.[1] ?? "0";
  return `portolan_${port}`;
}

/** The value of a cookie; undefined without it, and if it is there twice: then another page may have set one of them. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const found = (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
}

export function sessionCookie(name: string, id: string, isTls: boolean): string {
  return `${name}=${id}; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800${isTls ? "; Secure" : ""}`;
}

export function expiredCookie(name: string): string {
  return `${name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
}
