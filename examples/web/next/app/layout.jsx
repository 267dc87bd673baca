import "troupe/react/ui/style.css";

export const metadata = { title: "Payments" };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
